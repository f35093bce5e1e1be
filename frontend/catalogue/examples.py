"""What to type where a part of a document is typed as YAML."""

from __future__ import annotations

from collections.abc import Mapping

EXAMPLES: Mapping[str, str] = {
    "models.layers": """\
- kind: attention        # MHA, GQA
  layers: 12
  kv_heads: 8
  key_dim: 128
  value_dim: 128
- kind: attention        # sliding window
  layers: 36
  kv_heads: 8
  key_dim: 128
  value_dim: 128
  window_tokens: 4096
- kind: latent           # MLA
  layers: 15
  kv_lora_rank: 512
  rope_dim: 64
- kind: recurrent        # KDA, GDN, Lightning, Mamba
  layers: 42
  mechanism: kda
  state_shape: [32, 128, 128]
  state_dtype: float32
  conv_channels: 12288
  conv_kernel: 4""",
    "traffic.input_tokens.components": """\
- weight: 0.7
  distribution: truncated_log_normal
  mu: 8.5
  sigma: 1.1
  min: 128
  max: 131072
- weight: 0.3
  distribution: gamma
  shape: 2
  mean: 40000
  min: 128
  max: 131072""",
    "traffic.output_tokens.components": """\
- weight: 0.8
  distribution: truncated_log_normal
  mu: 5.5
  sigma: 0.8
  min: 1
  max: 8192
- weight: 0.2
  distribution: pareto
  alpha: 1.5
  min: 256
  max: 8192""",
}


def example_of(kind: str, path: str) -> str:
    """An example for the input of a path, or nothing."""
    return EXAMPLES.get(f"{kind}.{path}", "")
