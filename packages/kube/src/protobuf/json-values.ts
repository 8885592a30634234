// Values of any form, as google.protobuf.Struct, Value and ListValue have them.
import type { WireWriter } from './wire-writer.ts';

/** Writes the fields of a google.protobuf.Struct. */
export function writeStruct(writer: WireWriter, value: unknown): void {
  for (const [key, item] of Object.entries(value as object).reverse()) {
    const before = writer.length;
    writeNested(writer, 2, item, writeJson);
    writer.text(key, 1);
    writer.varint(writer.length - before);
    writer.varint(0x0a);
  }
}

/** Writes a google.protobuf.Value. */
export function writeJson(writer: WireWriter, value: unknown): void {
  if (value === null) {
    writer.varint(0);
    writer.varint(0x08);
  } else if (typeof value === 'number') {
    writer.float64(value);
    writer.varint(0x11);
  } else if (typeof value === 'string') writer.text(value, 3);
  else if (typeof value === 'boolean') {
    writer.varint(value ? 1 : 0);
    writer.varint(0x20);
  } else if (Array.isArray(value)) {
    writeNested(writer, 6, value, writeJsonList);
  } else writeNested(writer, 5, value, writeStruct);
}

/** Writes a google.protobuf.ListValue. */
export function writeJsonList(writer: WireWriter, value: unknown): void {
  for (const item of [...(value as readonly unknown[])].reverse()) writeNested(writer, 1, item, writeJson);
}

function writeNested(
  writer: WireWriter,
  number: number,
  value: unknown,
  write: (writer: WireWriter, value: unknown) => void,
): void {
  const before = writer.length;
  write(writer, value);
  writer.close(number, before);
}
