enable subgroups;
requires packed_4x8_integer_dot_product;
@group(0) @binding(0) var<storage, read> w_: array<u32>;
@group(0) @binding(1) var<storage, read> bytes_: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> scales_: array<f32>;
@group(0) @binding(3) var<storage, read_write> y_: array<f32>;
struct Params { blocks_: u32, rows_: u32, }
@group(0) @binding(4) var<uniform> p: Params;
@compute @workgroup_size(128)
fn wick_matvec_q8_0_s32(@builtin(workgroup_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lid: u32, @builtin(subgroup_invocation_id) lane: u32) {
  var a0: f32 = 0x0p+0f;
  let v0: u32 = p.blocks_ * 2u;
  let v1: u32 = gid.x * 4u;
  let v2: u32 = v1 + (lid / 32u);
  let v3: u32 = p.rows_ - 1u;
  let v4: u32 = min(v2, v3);
  let v5: u32 = v4 * p.blocks_;
  for (var i0: u32 = lane; i0 < v0; i0 += 32u) {
    let v6: u32 = i0 / 2u;
    let v7: u32 = v5 + v6;
    let v8: u32 = v7 * 34u;
    let v9: u32 = v8 + 2u;
    let v10: u32 = i0 % 2u;
    let v11: u32 = v10 * 16u;
    let v12: u32 = v9 + v11;
    let v13: u32 = v12 >> 2u;
    let v14: u32 = v13 + 3u;
    let v15: u32 = w_[v14];
    let v16: u32 = v6 * 8u;
    let v17: u32 = v10 * 4u;
    let v18: u32 = v16 + v17;
    let v19: vec4<u32> = bytes_[(v18) / 4u];
    let v20: u32 = v13 + 2u;
    let v21: u32 = w_[v20];
    let v22: f32 = a0;
    let v23: u32 = v8 >> 2u;
    let v24: u32 = w_[v23];
    let v25: u32 = v13 + 1u;
    let v26: u32 = w_[v25];
    let v27: u32 = w_[v13];
    let v28: u32 = v13 + 4u;
    let v29: u32 = v12 & 2u;
    let v30: bool = v29 == 0u;
    let v31: bool = !v30;
    var v32: u32 = 0u;
    if (v31) { v32 = w_[v28]; }
    let v33: f32 = scales_[v6];
    let v34: u32 = v15 >> 16u;
    let v35: u32 = v32 << 16u;
    let v36: u32 = v34 | v35;
    let v37: u32 = select(v15, v36, v31);
    let v38: u32 = v21 >> 16u;
    let v39: u32 = v15 << 16u;
    let v40: u32 = v38 | v39;
    let v41: u32 = select(v21, v40, v31);
    let v42: u32 = v26 >> 16u;
    let v43: u32 = v21 << 16u;
    let v44: u32 = v42 | v43;
    let v45: u32 = select(v26, v44, v31);
    let v46: u32 = v27 >> 16u;
    let v47: u32 = v26 << 16u;
    let v48: u32 = v46 | v47;
    let v49: u32 = select(v27, v48, v31);
    let v50: i32 = 0i + dot4I8Packed(v49, v19.x);
    let v51: i32 = v50 + dot4I8Packed(v45, v19.y);
    let v52: i32 = v51 + dot4I8Packed(v41, v19.z);
    let v53: i32 = v52 + dot4I8Packed(v37, v19.w);
    let v54: f32 = f32(v53);
    let v55: u32 = v8 & 2u;
    let v56: u32 = v55 * 8u;
    let v57: u32 = v24 >> v56;
    let v58: f32 = unpack2x16float(v57).x;
    let v59: f32 = v58 * v33;
    let v60: f32 = v54 * v59;
    let v61: f32 = v22 + v60;
    a0 = v61;
  }
  let v62: f32 = a0;
  let v63: f32 = subgroupAdd(v62);
  let v64: bool = lane == 0u;
  let v65: bool = v2 < p.rows_;
  let v66: bool = v64 && v65;
  if (v66) { y_[v2] = v63; }
}
