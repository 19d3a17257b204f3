@group(0) @binding(0) var<storage, read> x_: array<f32>;
@group(0) @binding(1) var<storage, read_write> y_: array<f32>;
struct Params { rows_: u32, columns_: u32, offset_: u32, extent_: u32, outer_stride_: u32, inner_stride_: u32, step_: u32, parts_: u32, part_: u32, first_: u32, }
@group(0) @binding(2) var<uniform> p: Params;
var<workgroup> s0: array<f32, 256>;
@compute @workgroup_size(256)
fn wick_softmax_f32(@builtin(workgroup_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
  let zero: u32 = (groups.x * (groups.x + 1u) * (groups.x + 2u) * (groups.x + 3u)) & 4u;
  let v0: u32 = gid.y * groups.x;
  let v1: u32 = v0 + gid.x;
  let v2: u32 = p.rows_ * p.parts_;
  let v3: bool = v1 < v2;
  let v4: bool = lid < 128u;
  let v5: u32 = lid + 128u;
  let v6: bool = lid < 64u;
  let v7: u32 = lid + 64u;
  let v8: bool = lid < 32u;
  let v9: u32 = lid + 32u;
  let v10: bool = lid < 16u;
  let v11: u32 = lid + 16u;
  let v12: bool = lid < 8u;
  let v13: u32 = lid + 8u;
  let v14: bool = lid < 4u;
  let v15: u32 = lid + 4u;
  let v16: bool = lid < 2u;
  let v17: u32 = lid + 2u;
  let v18: bool = lid < 1u;
  let v19: u32 = lid + 1u;
  let v20: u32 = v1 * p.columns_;
  let v21: u32 = p.first_ + v20;
  if (v3) {
    var a0: f32 = (-0x1.fffffep+127f);
    let v22: u32 = v1 % p.parts_;
    let v23: u32 = v22 * p.part_;
    let v24: u32 = v23 + lid;
    let v25: u32 = v23 + p.part_;
    let v26: u32 = min(v25, p.columns_);
    for (var i0: u32 = v24; i0 < v26; i0 += 256u) {
      let v27: f32 = a0;
      let v28: u32 = v1 / p.parts_;
      let v29: u32 = v28 / p.extent_;
      let v30: u32 = v29 * p.outer_stride_;
      let v31: u32 = p.offset_ + v30;
      let v32: u32 = v28 % p.extent_;
      let v33: u32 = v32 * p.inner_stride_;
      let v34: u32 = v31 + v33;
      let v35: u32 = i0 * p.step_;
      let v36: u32 = v34 + v35;
      let v37: f32 = x_[v36];
      let v38: f32 = max(v27, v37);
      a0 = v38;
    }
    let v39: f32 = a0;
    workgroupBarrier();
    s0[lid] = v39;
    workgroupBarrier();
    if (v4) {
      let v40: f32 = s0[v5];
      let v41: f32 = s0[lid];
      let v42: f32 = max(v41, v40);
      s0[lid] = v42;
    }
    workgroupBarrier();
    if (v6) {
      let v43: f32 = s0[v7];
      let v44: f32 = s0[lid];
      let v45: f32 = max(v44, v43);
      s0[lid] = v45;
    }
    workgroupBarrier();
    if (v8) {
      let v46: f32 = s0[lid];
      let v47: f32 = s0[v9];
      let v48: f32 = max(v46, v47);
      s0[lid] = v48;
    }
    workgroupBarrier();
    if (v10) {
      let v49: f32 = s0[v11];
      let v50: f32 = s0[lid];
      let v51: f32 = max(v50, v49);
      s0[lid] = v51;
    }
    workgroupBarrier();
    if (v12) {
      let v52: f32 = s0[lid];
      let v53: f32 = s0[v13];
      let v54: f32 = max(v52, v53);
      s0[lid] = v54;
    }
    workgroupBarrier();
    if (v14) {
      let v55: f32 = s0[v15];
      let v56: f32 = s0[lid];
      let v57: f32 = max(v56, v55);
      s0[lid] = v57;
    }
    workgroupBarrier();
    if (v16) {
      let v58: f32 = s0[v17];
      let v59: f32 = s0[lid];
      let v60: f32 = max(v59, v58);
      s0[lid] = v60;
    }
    workgroupBarrier();
    if (v18) {
      let v61: f32 = s0[lid];
      let v62: f32 = s0[v19];
      let v63: f32 = max(v61, v62);
      s0[lid] = v63;
    }
    workgroupBarrier();
    let v64: f32 = s0[0u];
    var a1: f32 = 0x0p+0f;
    for (var i1: u32 = v24; i1 < v26; i1 += 256u) {
      let v65: u32 = v1 / p.parts_;
      let v66: u32 = v65 / p.extent_;
      let v67: u32 = v66 * p.outer_stride_;
      let v68: u32 = p.offset_ + v67;
      let v69: u32 = v65 % p.extent_;
      let v70: u32 = v69 * p.inner_stride_;
      let v71: u32 = v68 + v70;
      let v72: u32 = i1 * p.step_;
      let v73: u32 = v71 + v72;
      let v74: f32 = x_[v73];
      let v75: f32 = a1;
      let v76: f32 = bitcast<f32>(bitcast<u32>(v74) ^ zero) - v64;
      let v77: f32 = v76 * 0x1.715476p+0f;
      let v78: f32 = exp2(v77);
      let v79: f32 = v75 + v78;
      a1 = v79;
    }
    let v80: f32 = a1;
    workgroupBarrier();
    s0[lid] = v80;
    workgroupBarrier();
    if (v4) {
      let v81: f32 = s0[v5];
      let v82: f32 = s0[lid];
      let v83: f32 = v82 + v81;
      s0[lid] = v83;
    }
    workgroupBarrier();
    if (v6) {
      let v84: f32 = s0[lid];
      let v85: f32 = s0[v7];
      let v86: f32 = v84 + v85;
      s0[lid] = v86;
    }
    workgroupBarrier();
    if (v8) {
      let v87: f32 = s0[v9];
      let v88: f32 = s0[lid];
      let v89: f32 = v88 + v87;
      s0[lid] = v89;
    }
    workgroupBarrier();
    if (v10) {
      let v90: f32 = s0[v11];
      let v91: f32 = s0[lid];
      let v92: f32 = v91 + v90;
      s0[lid] = v92;
    }
    workgroupBarrier();
    if (v12) {
      let v93: f32 = s0[v13];
      let v94: f32 = s0[lid];
      let v95: f32 = v94 + v93;
      s0[lid] = v95;
    }
    workgroupBarrier();
    if (v14) {
      let v96: f32 = s0[v15];
      let v97: f32 = s0[lid];
      let v98: f32 = v97 + v96;
      s0[lid] = v98;
    }
    workgroupBarrier();
    if (v16) {
      let v99: f32 = s0[v17];
      let v100: f32 = s0[lid];
      let v101: f32 = v100 + v99;
      s0[lid] = v101;
    }
    workgroupBarrier();
    if (v18) {
      let v102: f32 = s0[v19];
      let v103: f32 = s0[lid];
      let v104: f32 = v103 + v102;
      s0[lid] = v104;
    }
    workgroupBarrier();
    let v105: f32 = s0[0u];
    for (var i2: u32 = v24; i2 < v26; i2 += 256u) {
      let v106: u32 = v1 / p.parts_;
      let v107: u32 = v106 / p.extent_;
      let v108: u32 = v107 * p.outer_stride_;
      let v109: u32 = p.offset_ + v108;
      let v110: u32 = v106 % p.extent_;
      let v111: u32 = v110 * p.inner_stride_;
      let v112: u32 = v109 + v111;
      let v113: u32 = i2 * p.step_;
      let v114: u32 = v112 + v113;
      let v115: f32 = x_[v114];
      let v116: u32 = v21 + i2;
      let v117: f32 = bitcast<f32>(bitcast<u32>(v115) ^ zero) - v64;
      let v118: f32 = v117 * 0x1.715476p+0f;
      let v119: f32 = exp2(v118);
      let v120: f32 = v119 / v105;
      y_[v116] = v120;
    }
  }
}
