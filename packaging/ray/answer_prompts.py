"""Answers the prompts of a dataset with a model, on all devices of a cluster:

    ray job submit --address http://HEAD:8265 --working-dir packaging/ray -- python answer_prompts.py /data/prompts /data/answers /models/small.gguf

The folders are shared by all nodes. /data/prompts has Parquet or JSON lines with a column "prompt".
"""
import argparse
import pathlib

import ray
import wick.ray


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("prompts", type=pathlib.Path)
    parser.add_argument("answers", type=pathlib.Path)
    parser.add_argument("model")
    parser.add_argument("--actors", type=int, default=1, help="of the most, each with a copy of the model")
    parser.add_argument("--gpus", type=float, default=0, help="of an actor; 0: it computes on a CPU")
    parser.add_argument("--max-tokens", type=int, default=256)
    options = parser.parse_args()
    is_parquet = any(options.prompts.glob("*.parquet"))
    read = ray.data.read_parquet if is_parquet else ray.data.read_json
    answered = wick.ray.generate(read(str(options.prompts)), options.model, output="answer", parameters={"max_tokens": options.max_tokens},
                                 concurrency=(1, options.actors), num_gpus=options.gpus, on_error="column")
    answered.write_parquet(str(options.answers))
    failed = ray.data.read_parquet(str(options.answers)).filter(lambda row: row["error"] is not None).count()
    print(f"{failed} rows without an answer" if failed else "all rows have answers")


if __name__ == "__main__":
    main()
