@group(0) @binding(0) var<storage, read> x_: array<f32>;
@group(0) @binding(1) var<storage, read_write> y_: array<f32>;
struct Params { columns_: u32, }
@group(0) @binding(2) var<uniform> p: Params;
var<workgroup> s0: array<f32, 256>;
@compute @workgroup_size(256)
fn wick_softmax_f32(@builtin(workgroup_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
  var a0: f32 = (-0x1.fffffep+127f);
  let v0: u32 = gid.y * groups.x;
  let v1: u32 = v0 + gid.x;
  let v2: u32 = v1 * p.columns_;
  for (var i0: u32 = lid; i0 < p.columns_; i0 += 256u) {
    let v3: f32 = a0;
    let v4: u32 = v2 + i0;
    let v5: f32 = x_[v4];
    let v6: f32 = max(v3, v5);
    a0 = v6;
  }
  let v7: f32 = a0;
  workgroupBarrier();
  s0[lid] = v7;
  workgroupBarrier();
  let v8: bool = lid < 128u;
  let v9: u32 = lid + 128u;
  if (v8) {
    let v10: f32 = s0[lid];
    let v11: f32 = s0[v9];
    let v12: f32 = max(v10, v11);
    s0[lid] = v12;
  }
  workgroupBarrier();
  let v13: bool = lid < 64u;
  let v14: u32 = lid + 64u;
  if (v13) {
    let v15: f32 = s0[lid];
    let v16: f32 = s0[v14];
    let v17: f32 = max(v15, v16);
    s0[lid] = v17;
  }
  workgroupBarrier();
  let v18: bool = lid < 32u;
  let v19: u32 = lid + 32u;
  if (v18) {
    let v20: f32 = s0[lid];
    let v21: f32 = s0[v19];
    let v22: f32 = max(v20, v21);
    s0[lid] = v22;
  }
  workgroupBarrier();
  let v23: bool = lid < 16u;
  let v24: u32 = lid + 16u;
  if (v23) {
    let v25: f32 = s0[v24];
    let v26: f32 = s0[lid];
    let v27: f32 = max(v26, v25);
    s0[lid] = v27;
  }
  workgroupBarrier();
  let v28: bool = lid < 8u;
  let v29: u32 = lid + 8u;
  if (v28) {
    let v30: f32 = s0[v29];
    let v31: f32 = s0[lid];
    let v32: f32 = max(v31, v30);
    s0[lid] = v32;
  }
  workgroupBarrier();
  let v33: bool = lid < 4u;
  let v34: u32 = lid + 4u;
  if (v33) {
    let v35: f32 = s0[v34];
    let v36: f32 = s0[lid];
    let v37: f32 = max(v36, v35);
    s0[lid] = v37;
  }
  workgroupBarrier();
  let v38: bool = lid < 2u;
  let v39: u32 = lid + 2u;
  if (v38) {
    let v40: f32 = s0[lid];
    let v41: f32 = s0[v39];
    let v42: f32 = max(v40, v41);
    s0[lid] = v42;
  }
  workgroupBarrier();
  let v43: bool = lid < 1u;
  let v44: u32 = lid + 1u;
  if (v43) {
    let v45: f32 = s0[v44];
    let v46: f32 = s0[lid];
    let v47: f32 = max(v46, v45);
    s0[lid] = v47;
  }
  workgroupBarrier();
  let v48: f32 = s0[0u];
  var a1: f32 = 0x0p+0f;
  for (var i1: u32 = lid; i1 < p.columns_; i1 += 256u) {
    let v49: f32 = a1;
    let v50: u32 = v2 + i1;
    let v51: f32 = x_[v50];
    let v52: f32 = v51 - v48;
    let v53: f32 = v52 * 0x1.715476p+0f;
    let v54: f32 = exp2(v53);
    let v55: f32 = v49 + v54;
    a1 = v55;
  }
  let v56: f32 = a1;
  workgroupBarrier();
  s0[lid] = v56;
  workgroupBarrier();
  if (v8) {
    let v57: f32 = s0[lid];
    let v58: f32 = s0[v9];
    let v59: f32 = v57 + v58;
    s0[lid] = v59;
  }
  workgroupBarrier();
  if (v13) {
    let v60: f32 = s0[lid];
    let v61: f32 = s0[v14];
    let v62: f32 = v60 + v61;
    s0[lid] = v62;
  }
  workgroupBarrier();
  if (v18) {
    let v63: f32 = s0[lid];
    let v64: f32 = s0[v19];
    let v65: f32 = v63 + v64;
    s0[lid] = v65;
  }
  workgroupBarrier();
  if (v23) {
    let v66: f32 = s0[v24];
    let v67: f32 = s0[lid];
    let v68: f32 = v67 + v66;
    s0[lid] = v68;
  }
  workgroupBarrier();
  if (v28) {
    let v69: f32 = s0[lid];
    let v70: f32 = s0[v29];
    let v71: f32 = v69 + v70;
    s0[lid] = v71;
  }
  workgroupBarrier();
  if (v33) {
    let v72: f32 = s0[lid];
    let v73: f32 = s0[v34];
    let v74: f32 = v72 + v73;
    s0[lid] = v74;
  }
  workgroupBarrier();
  if (v38) {
    let v75: f32 = s0[lid];
    let v76: f32 = s0[v39];
    let v77: f32 = v75 + v76;
    s0[lid] = v77;
  }
  workgroupBarrier();
  if (v43) {
    let v78: f32 = s0[v44];
    let v79: f32 = s0[lid];
    let v80: f32 = v79 + v78;
    s0[lid] = v80;
  }
  workgroupBarrier();
  let v81: f32 = s0[0u];
  for (var i2: u32 = lid; i2 < p.columns_; i2 += 256u) {
    let v82: u32 = v2 + i2;
    let v83: f32 = x_[v82];
    let v84: f32 = v83 - v48;
    let v85: f32 = v84 * 0x1.715476p+0f;
    let v86: f32 = exp2(v85);
    let v87: f32 = v86 / v81;
    y_[v82] = v87;
  }
}
