"""A message with every Protobuf type, and its classes of Google's library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headrace.formats.protobuf.descriptors import find_message

EVERYTHING = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";
import "parts.proto";

message Everything {
  double f64 = 1;
  float f32 = 2;
  int32 i32 = 3;
  int64 i64 = 4;
  uint32 u32 = 5;
  uint64 u64 = 6;
  sint32 s32 = 7;
  sint64 s64 = 8;
  fixed32 x32 = 9;
  fixed64 x64 = 10;
  sfixed32 y32 = 11;
  sfixed64 y64 = 12;
  bool flag = 13;
  string text = 14;
  bytes blob = 15;
  Color color = 16;
  Money price = 17;
  optional int32 maybe = 18;
  optional string maybe_text = 19;
  google.protobuf.Timestamp at = 20;
  google.protobuf.Duration took = 21;
  google.protobuf.Int64Value boxed = 22;
  google.protobuf.StringValue boxed_text = 23;
  google.protobuf.UInt64Value boxed_u64 = 24;
  google.protobuf.BoolValue boxed_flag = 25;
  oneof method {
    string card = 30;
    Money cash = 31;
    int32 voucher = 32;
  }
  repeated int32 numbers = 40;
  repeated sint64 unpacked = 41 [packed = false];
  repeated double measures = 42;
  repeated bool flags = 43;
  repeated string words = 44;
  repeated Color colors = 45;
  repeated Money prices = 46;
  repeated google.protobuf.Timestamp times = 47;
  repeated fixed32 fixed = 48;
  map<string, int32> counts = 50;
  map<int64, Money> by_id = 51;
  map<bool, Color> by_flag = 52;
  map<uint64, string> by_u64 = 53;
  Order order = 5000;
}

message Order {
  string id = 1;
  repeated Money items = 2;
  Order.Place place = 3;
  message Place { string city = 1; optional double height = 2; }
}
"""

PARTS = """
syntax = "proto3";
package shop;

enum Color {
  option allow_alias = true;
  NONE = 0;
  RED = 1;
  CRIMSON = 1;
  BLUE = -5;
}
message Money { string currency = 1; int64 units = 2; }
"""

LEGACY = """
syntax = "proto2";
package old;

enum Level { UNSET = 0; LOW = 1; HIGH = 2; }
message Reading {
  required string sensor = 1;
  optional int32 value = 2 [default = 7];
  optional Level level = 3;
  repeated Level levels = 4;
  map<string, Level> by_name = 5;
  oneof source { Level kind = 6; string name = 7; }
  optional group Extra = 8 { optional int32 n = 1; }
}
"""

EVERYTHING_COLUMNS = (
    "f64 double, f32 float, i32 int, i64 bigint, u32 bigint, u64 decimal(20,0), s32 int, s64 bigint, "
    "x32 bigint, x64 decimal(20,0), y32 int, y64 bigint, flag boolean, text string, blob binary, "
    "color string, price struct<currency:string,units:bigint>, maybe int, maybe_text string, at timestamp, "
    "took interval day to second, boxed bigint, boxed_text string, boxed_u64 decimal(20,0), "
    "boxed_flag boolean, card string, cash struct<currency:string,units:bigint>, voucher int, "
    "numbers array<int>, unpacked array<bigint>, measures array<double>, flags array<boolean>, "
    "words array<string>, colors array<string>, prices array<struct<currency:string,units:bigint>>, "
    "times array<timestamp>, fixed array<bigint>, counts map<string,int>, "
    "by_id map<bigint,struct<currency:string,units:bigint>>, by_flag map<boolean,string>, "
    "by_u64 map<decimal(20,0),string>, order struct<id:string,items:array<struct<currency:string,"
    "units:bigint>>,place:struct<city:string,height:double>>"
)


def write_files(directory: Path) -> Path:
    """Write the `.proto` files of this module and return the directory."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in {"everything": EVERYTHING, "parts": PARTS, "legacy": LEGACY}.items():
        (directory / f"{name}.proto").write_text(text)
    return directory


def message_class(file: Path, name: str) -> Any:
    """Return the class of a message in Google's library."""
    from google.protobuf.message_factory import GetMessageClass

    return GetMessageClass(find_message(str(file), name))
