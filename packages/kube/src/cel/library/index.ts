import { type FunctionTable, functionTable } from '../typing/overload.ts';
import { addresses } from './addresses.ts';
import { arithmetic } from './arithmetic.ts';
import { conversions } from './conversions.ts';
import { extensions } from './extensions.ts';
import { kubernetesLists, lists, sets } from './lists.ts';
import { namedFormats } from './named-formats.ts';
import { optionals } from './optionals.ts';
import { quantities } from './quantities.ts';
import { regexLibrary } from './regex.ts';
import { relations } from './relations.ts';
import { semvers } from './semvers.ts';
import { special } from './special.ts';
import { stringExtensions, strings } from './strings.ts';
import { times } from './times.ts';
import { urls } from './urls.ts';

export interface LibraryOptions {
  /** Adds math.*, base64.*, string.reverse and list.includes, which API servers do not offer yet. Default: false. */
  extensions?: boolean;
}

/** Returns the functions that kube-apiserver offers to rules from 1.34 on. */
export function kubernetesLibrary(options: LibraryOptions = {}): FunctionTable {
  return functionTable([
    ...special,
    ...arithmetic,
    ...relations,
    ...conversions,
    ...times,
    ...regexLibrary(),
    ...optionals,
    ...strings,
    ...lists,
    ...kubernetesLists,
    ...sets,
    ...quantities,
    ...addresses,
    ...urls,
    ...namedFormats,
    ...semvers,
    ...(options.extensions ? [...extensions, ...stringExtensions] : []),
  ]);
}
