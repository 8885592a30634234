// Envoy's API as a second implementation reads it: protobufjs, on the descriptors that our tables and types are generated from.
import { readFileSync } from 'node:fs';
import protobuf from 'protobufjs';
import descriptor from 'protobufjs/ext/descriptor/index.js';

export function readDescriptors(): protobuf.Root {
  const bytes = readFileSync(new URL('./gen/descriptors.binpb', import.meta.url));
  // The declarations of the extension leave this function out.
  const root = protobuf.Root as unknown as { fromDescriptor(set: protobuf.Message): protobuf.Root };
  return root.fromDescriptor(descriptor.FileDescriptorSet.decode(bytes));
}
