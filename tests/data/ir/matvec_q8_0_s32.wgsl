enable subgroups;
requires packed_4x8_integer_dot_product;
@group(0) @binding(0) var<storage, read> w_: array<u32>;
@group(0) @binding(1) var<storage, read> bytes_: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> scales_: array<f32>;
@group(0) @binding(3) var<storage, read_write> y_: array<f32>;
struct Params { blocks_: u32, rows_: u32, x_offset_: u32, y_offset_: u32, }
@group(0) @binding(4) var<uniform> p: Params;
@compute @workgroup_size(128)
fn wick_matvec_q8_0_s32(@builtin(workgroup_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lid: u32, @builtin(subgroup_invocation_id) lane: u32) {
  var a0: f32 = 0x0p+0f;
  let v0: u32 = p.blocks_ * 2u;
  let v1: u32 = gid.y * groups.x;
  let v2: u32 = v1 + gid.x;
  let v3: u32 = v2 * 4u;
  let v4: u32 = v3 + (lid / 32u);
  let v5: u32 = p.rows_ - 1u;
  let v6: u32 = min(v4, v5);
  let v7: u32 = v6 * p.blocks_;
  let v8: u32 = p.x_offset_ / 32u;
  for (var i0: u32 = lane; i0 < v0; i0 += 32u) {
    let v9: u32 = i0 / 2u;
    let v10: u32 = v7 + v9;
    let v11: u32 = v10 * 34u;
    let v12: u32 = v11 >> 2u;
    let v13: u32 = w_[v12];
    let v14: u32 = v8 + v9;
    let v15: f32 = scales_[v14];
    let v16: u32 = v11 + 2u;
    let v17: u32 = i0 % 2u;
    let v18: u32 = v17 * 16u;
    let v19: u32 = v16 + v18;
    let v20: u32 = v19 >> 2u;
    let v21: u32 = v20 + 2u;
    let v22: u32 = w_[v21];
    let v23: f32 = a0;
    let v24: u32 = v14 * 8u;
    let v25: u32 = v17 * 4u;
    let v26: u32 = v24 + v25;
    let v27: vec4<u32> = bytes_[(v26) / 4u];
    let v28: u32 = w_[v20];
    let v29: u32 = v20 + 1u;
    let v30: u32 = w_[v29];
    let v31: u32 = v20 + 4u;
    let v32: u32 = v19 & 2u;
    let v33: bool = v32 == 0u;
    let v34: bool = !v33;
    var v35: u32 = 0u;
    if (v34) { v35 = w_[v31]; }
    let v36: u32 = v20 + 3u;
    let v37: u32 = w_[v36];
    let v38: u32 = v37 >> 16u;
    let v39: u32 = v35 << 16u;
    let v40: u32 = v38 | v39;
    let v41: u32 = select(v37, v40, v34);
    let v42: u32 = v22 >> 16u;
    let v43: u32 = v37 << 16u;
    let v44: u32 = v42 | v43;
    let v45: u32 = select(v22, v44, v34);
    let v46: u32 = v30 >> 16u;
    let v47: u32 = v22 << 16u;
    let v48: u32 = v46 | v47;
    let v49: u32 = select(v30, v48, v34);
    let v50: u32 = v28 >> 16u;
    let v51: u32 = v30 << 16u;
    let v52: u32 = v50 | v51;
    let v53: u32 = select(v28, v52, v34);
    let v54: i32 = 0i + dot4I8Packed(v53, v27.x);
    let v55: i32 = v54 + dot4I8Packed(v49, v27.y);
    let v56: i32 = v55 + dot4I8Packed(v45, v27.z);
    let v57: i32 = v56 + dot4I8Packed(v41, v27.w);
    let v58: f32 = f32(v57);
    let v59: u32 = v11 & 2u;
    let v60: u32 = v59 * 8u;
    let v61: u32 = v13 >> v60;
    let v62: f32 = unpack2x16float(v61).x;
    let v63: f32 = v62 * v15;
    let v64: f32 = v58 * v63;
    let v65: f32 = v23 + v64;
    a0 = v65;
  }
  let v66: f32 = a0;
  let v67: f32 = subgroupAdd(v66);
  let v68: u32 = p.y_offset_ + v4;
  let v69: bool = lane == 0u;
  let v70: bool = v4 < p.rows_;
  let v71: bool = v69 && v70;
  if (v71) { y_[v68] = v67; }
}
