// Descriptors of .proto files as Go modules hold them: the generated *.pb.go files have the bytes of a FileDescriptorProto in a
// constant, as text or as a list of numbers.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ENVOY_MODULE = 'github.com/envoyproxy/go-control-plane/envoy';
/** The release of Envoy whose API this is; the tests run the same one (scripts/setup-real/envoy.ts). */
export const ENVOY_VERSION = 'v1.40.0';
const ENVOY_SUM = 'h1:G4dcl8KE/HVPnZ25BBdvGZWi8JjyeBfQSvm95U5P1Qc=';

/** The module of an imported .proto file by the beginning of its path, and the part of the path that the module leaves out. */
const MODULES: readonly [prefix: string, module: string, leftOut: string][] = [
  ['envoy/', ENVOY_MODULE, 'envoy/'],
  ['xds/', 'github.com/cncf/xds/go', ''],
  ['udpa/', 'github.com/cncf/xds/go', ''],
  ['validate/', 'github.com/envoyproxy/protoc-gen-validate', ''],
  ['google/rpc/', 'google.golang.org/genproto/googleapis/rpc', 'google/rpc/'],
  ['google/api/', 'google.golang.org/genproto/googleapis/api', 'google/api/'],
  ['google/protobuf/', 'google.golang.org/protobuf', ''],
];

/** Files of Go whose path does not follow from that of the .proto file. */
const MOVED: Readonly<Record<string, string>> = {
  'google/api/annotations.proto': 'annotations/annotations.pb.go',
  'google/api/http.proto': 'annotations/http.pb.go',
  'google/protobuf/any.proto': 'types/known/anypb/any.pb.go',
  'google/protobuf/descriptor.proto': 'types/descriptorpb/descriptor.pb.go',
  'google/protobuf/duration.proto': 'types/known/durationpb/duration.pb.go',
  'google/protobuf/empty.proto': 'types/known/emptypb/empty.pb.go',
  'google/protobuf/struct.proto': 'types/known/structpb/struct.pb.go',
  'google/protobuf/timestamp.proto': 'types/known/timestamppb/timestamp.pb.go',
  'google/protobuf/wrappers.proto': 'types/known/wrapperspb/wrappers.pb.go',
  'google/rpc/status.proto': 'status/status.pb.go',
};

export interface GoDescriptors {
  /** The bytes of a file's descriptor by the path of the .proto file. */
  read(path: string): Uint8Array;
  /** Paths of the .proto files of a package: `envoy.config.route.v3`. */
  filesOf(name: string): string[];
}

/** Downloads the modules with Go, which checks their sums. The module of Envoy names the versions of the others. */
export function downloadDescriptors(): GoDescriptors {
  const envoy = download(ENVOY_MODULE, ENVOY_VERSION, ENVOY_SUM);
  const folders = new Map([[ENVOY_MODULE, envoy]]);
  const versions = new Map(
    [...readFileSync(join(envoy, 'go.mod'), 'utf8').matchAll(/^\t(\S+) (v\S+)/gm)].map(
      ([, module = '', version = '']) => [module, version],
    ),
  );
  const folderOf = (module: string): string => {
    let folder = folders.get(module);
    if (folder === undefined) folders.set(module, (folder = download(module, versions.get(module) ?? 'latest')));
    return folder;
  };
  return {
    read(path) {
      const [, module, leftOut = ''] = MODULES.find(([prefix]) => path.startsWith(prefix)) ?? [];
      if (module === undefined) throw new Error(`${path}: no module is named for it; add it to MODULES`);
      const file = join(folderOf(module), MOVED[path] ?? path.slice(leftOut.length).replace(/\.proto$/, '.pb.go'));
      return descriptorIn(readFileSync(file, 'utf8'));
    },
    filesOf(name) {
      const folder = name.replaceAll('.', '/');
      return readdirSync(join(envoy, folder.slice('envoy/'.length)))
        .filter((file) => file.endsWith('.pb.go') && !/_(vtproto|grpc)\.pb\.go$/.test(file))
        .map((file) => `${folder}/${file.replace(/\.pb\.go$/, '.proto')}`);
    },
  };
}

function download(module: string, version: string, sum?: string): string {
  const { stdout } = spawnSync('go', ['mod', 'download', '-json', `${module}@${version}`], { encoding: 'utf8' });
  const answer = JSON.parse(stdout || '{}') as {
    readonly Dir?: string;
    readonly Sum?: string;
    readonly Error?: string;
  };
  if (answer.Dir === undefined) throw new Error(`${module}@${version}: ${answer.Error ?? 'Go is not installed'}`);
  if (sum !== undefined && answer.Sum !== sum)
    throw new Error(`${module}@${version}: its sum is ${answer.Sum ?? 'unknown'}, and ${sum} is expected`);
  return answer.Dir;
}

function descriptorIn(source: string): Uint8Array {
  const text = /_rawDesc = ""((?: \+\n\t"(?:[^"\\]|\\.)*")+)/.exec(source)?.[1];
  if (text !== undefined)
    return Buffer.concat([...text.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, part = '']) => unescaped(part)));
  const numbers = /_rawDesc = \[\]byte\{([^}]*)\}/.exec(source)?.[1];
  if (numbers === undefined) throw new Error('the file of Go has no descriptor');
  return Uint8Array.from(numbers.match(/0x[0-9a-f]{2}/g) ?? [], Number);
}

const ESCAPES: Readonly<Record<string, number>> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, '\\': 92 };

/** The bytes of a text literal of Go without its quotes. */
function unescaped(literal: string): Buffer {
  const parts = literal.match(/\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\\.|[^\\]+/g) ?? [];
  return Buffer.concat(
    parts.map((part) => {
      if (!part.startsWith('\\')) return Buffer.from(part);
      if (part[1] === 'x') return Buffer.of(Number.parseInt(part.slice(2), 16));
      if (part[1] === 'u') return Buffer.from(String.fromCharCode(Number.parseInt(part.slice(2), 16)));
      const byte = ESCAPES[part[1] ?? ''];
      if (byte === undefined) throw new Error(`the escape ${part} is not known`);
      return Buffer.of(byte);
    }),
  );
}
