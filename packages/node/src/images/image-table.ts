// The images that this node can run: an image here is a program that is installed on the machine. A container's paths and addresses are not
// the machine's, so an entry also defines how the program gets the right ones: by additional arguments and environment, and by replacements
// in the texts of the pod.
//
//   { match: 'envoyproxy/envoy', entrypoint: ['/usr/bin/envoy'], substitute: [{ from: '0.0.0.0', to: '$(POD_IP)' }] }

export interface KnownImage {
  /** An image name, in which `*` stands for anything; without a tag it means every tag. */
  match: string;
  /** The program and its first arguments where the pod gives no command. */
  entrypoint: readonly string[];
  /** The arguments where the pod gives neither command nor args; default none. */
  cmd?: readonly string[];
  /** Programs that a pod's command may name, and where they are here; others are taken as they are named. */
  programs?: Readonly<Record<string, readonly string[]>>;
  /** Arguments that are added at the end; `$(POD_IP)` and the container's other variables are filled in. */
  extraArgs?: readonly string[];
  /** Environment beside the pod's, which wins; `$(POD_IP)` and others are filled in. */
  env?: Readonly<Record<string, string>>;
  /** Replaced in command, args and environment of the container, in this order; `to` is filled in. */
  substitute?: readonly Substitution[];
  /**
   * Whether names of Services (`web.default.svc`) are replaced by their addresses in the same places, or in which lines;
   * default true. A name that a server goes by (in TLS, to its clients) must stay a name.
   */
  resolveServices?: boolean | RegExp;
  /** Whether both kinds of replacement also apply to files from ConfigMaps; default false. Never to Secrets. */
  substituteInFiles?: boolean;
  /** Whether KUBECONFIG names a file with the pod's ServiceAccount; default false. */
  kubeconfig?: boolean;
}

export interface Substitution {
  from: string;
  to: string;
}

/** The first entry that matches. */
export function findImage(images: readonly KnownImage[], image: string): KnownImage | undefined {
  const name = shortName(image);
  return images.find(({ match }) => patternOf(shortName(match)).test(name));
}

/** A name without a registry means `docker.io/library/`. */
function shortName(image: string): string {
  return image.replace(/^(?:index\.)?docker\.io\//, '').replace(/^library\//, '');
}

function patternOf(match: string): RegExp {
  const last = match.slice(match.lastIndexOf('/') + 1);
  const isTagged = last.includes(':') || last.includes('@') || last.endsWith('*');
  const text = match.replace(/[.*+?^${}()|[\]\\]/g, (character) => (character === '*' ? '.*' : `\\${character}`));
  return new RegExp(`^${text}${isTagged ? '' : '(?:[:@].*)?'}$`);
}
