import {
  type ApiRequest,
  type ApiResponse,
  applyMergePatch,
  type UnknownObject,
  type WatchEvent,
  type WatchStream,
} from '@capstan/kube';
import type { Core, RequestContext } from './core.ts';
import type { Conversions } from './crd/conversion.ts';
import { badRequest, methodNotAllowed, notFound, notServed, pageNotFound } from './errors.ts';
import { isObject, textAt } from './json/copy.ts';
import { applyJsonPatch } from './json/patches.ts';
import { nameOf } from './resources/resource.ts';
import { createObject } from './rest/create.ts';
import { bodyOf, decodeObject } from './rest/decode.ts';
import { deleteCollection, deleteObject, deleteOptions } from './rest/delete.ts';
import { checkNumbers, isTrue, listOptions, optionsOf, watchOptions } from './rest/options.ts';
import { checkPatchType, isApply, PATCH_TYPES, patchObject } from './rest/patch.ts';
import { POD_SUBRESOURCES, podSubresource, type ReadLogs } from './rest/pod-subresources.ts';
import { getObject, listObjects } from './rest/read.ts';
import type { Renderer, Rendering } from './rest/render.ts';
import type { ResourcePath } from './rest/route.ts';
import { getScale, writeScale } from './rest/scale.ts';
import { applyScale } from './rest/scale-apply.ts';
import { checkSelectors, parseSelection } from './rest/selectors.ts';
import type { Target } from './rest/target.ts';
import { replaceObject } from './rest/update.ts';
import { atOnce, inTurns } from './steps.ts';
import { openWatch, prepareWatch } from './watch/watch.ts';
import type { WatchHub } from './watch/watch-hub.ts';

export interface Dispatcher {
  (request: ApiRequest, path: ResourcePath, context: RequestContext): Promise<ApiResponse | WatchStream>;
}

/** A request on its way to its verb. */
interface Call {
  readonly core: Core;
  readonly hub: WatchHub;
  readonly settle: Conversions['settle'];
  readonly target: Target;
  readonly request: ApiRequest;
  readonly context: RequestContext;
  readonly warnings: Set<string>;
  readonly rendering: Rendering;
}

/** Brings a request to the verb that it means. */
export function createDispatcher(
  core: Core,
  hub: WatchHub,
  render: Renderer,
  settle: Conversions['settle'],
  readLogs?: ReadLogs,
): Dispatcher {
  return async (request, path, context) => {
    const { method, query = {} } = request;
    const target = targetOf(core, path, method);
    const warnings = context.warnings ?? new Set<string>();
    const deprecation = target.version.deprecationWarning;
    if (deprecation !== undefined && target.resource.custom) warnings.add(deprecation);
    const rendering = render(target.resource, target.version, {
      accept: request.accept ?? request.headers?.['accept'],
      includeObject: query['includeObject'],
      isList: method === 'GET' && target.name === '',
    });
    const call: Call = { core, hub, settle, target, request, context, warnings, rendering };
    const isServed =
      target.subresource === '' || target.version.subresources.some(({ name }) => name === target.subresource);
    // Refuse a method that the path does not have before any other answer.
    if (method === 'PATCH' && !target.resource.custom && isServed) checkPatchType(target, request.contentType ?? '');
    const isTaken =
      method === 'POST' ? target.name === '' : target.name !== '' || method === 'GET' || method === 'DELETE';
    if (deprecation !== undefined && isServed && isTaken) warnings.add(deprecation);
    if (target.subresource === 'scale' && target.version.scale) return scale(call);
    if (!isServed) {
      throw target.resource.custom && target.name !== '' ? notFound(nameOf(target.resource), target.name) : notServed();
    }
    if (target.subresource === 'finalize' && method !== 'PUT') throw methodNotAllowed();
    if (target.subresource === 'proxy') throw badRequest('the proxy subresource is served over HTTP only');
    if (target.resource.storageKey === '/pods' && POD_SUBRESOURCES.has(target.subresource)) {
      return podSubresource(core, readLogs, { target, request, context, options: () => optionsOf(request, context) });
    }
    return VERBS[method](call);
  };
}

const VERBS: Readonly<Record<ApiRequest['method'], (call: Call) => Promise<ApiResponse | WatchStream>>> = {
  GET: read,
  POST: create,
  PUT: replace,
  PATCH: patch,
  DELETE: remove,
};

async function read(call: Call): Promise<ApiResponse | WatchStream> {
  const { core, hub, settle, target, request, context, warnings, rendering } = call;
  const { query = {}, signal } = request;
  checkNumbers(query);
  const wanted = { labelSelector: query['labelSelector'] ?? '', fieldSelector: query['fieldSelector'] ?? '' };
  const check = () => void parseSelection(wanted, target);
  // Selectors must be such; whether the kind has their fields is looked at later.
  checkSelectors(wanted);
  if (isTrue(query, 'watch')) {
    const { isConverted } = target.version;
    // A webhook converts objects on their way to the client.
    const shown: Rendering = isConverted
      ? { ...rendering, one: asItIs, event: asItIs, prepare: asItIs, isShared: false }
      : rendering;
    const options = watchOptions(query, check);
    const preparing = inTurns(prepareWatch(core, target, options, shown), core.pace(context));
    const { selection, forget } = preparing instanceof Promise ? await preparing : preparing;
    const stream = openWatch(core, hub, target, options, shown, selection, signal);
    forget();
    return isConverted ? convertedWatch(stream, rendering, settle) : stream;
  }
  if (target.name === '') {
    const listing = inTurns(listObjects(core, target, listOptions(query, check), rendering), core.pace(context));
    return answer(200, listing instanceof Promise ? await listing : listing, rendering, warnings);
  }
  const object = rendering.one(getObject(core, target, query['resourceVersion'] ?? ''));
  return answer(200, object, rendering, warnings);
}

async function create(call: Call): Promise<ApiResponse> {
  const { core, target, request, context, warnings, rendering } = call;
  // Custom resources are made under any name that the path has.
  if (target.name !== '' && (!target.resource.custom || target.subresource !== '')) throw methodNotAllowed();
  const unnamed = { ...target, name: '' };
  const object = await createObject(core, unnamed, request.body, optionsOf(request, context), context, warnings);
  return answer(201, rendering.one(object), rendering, warnings);
}

async function replace(call: Call): Promise<ApiResponse> {
  const { core, target, request, context, warnings, rendering } = call;
  if (target.name === '') throw target.resource.custom ? badRequest('name must be provided') : methodNotAllowed();
  const result = await replaceObject(core, target, request.body, optionsOf(request, context), context, warnings);
  return answer(result.created ? 201 : 200, rendering.one(result.object), rendering, warnings);
}

async function patch(call: Call): Promise<ApiResponse> {
  const { core, target, request, context, warnings, rendering } = call;
  if (target.name === '') throw methodNotAllowed();
  const type = request.contentType ?? request.headers?.['content-type'] ?? '';
  checkPatchType(target, type);
  const options = optionsOf(request, context, isApply(type));
  const result = await patchObject(core, target, request.body, type, options, context, warnings);
  return answer(result.created ? 201 : 200, rendering.one(result.object), rendering, warnings);
}

async function remove({ core, target, request, context, warnings, rendering }: Call): Promise<ApiResponse> {
  const { query = {}, body } = request;
  if (target.subresource !== '') throw methodNotAllowed();
  const isCollection = target.name === '';
  if (isCollection && !target.resource.verbs.includes('deletecollection')) throw methodNotAllowed();
  // Kubernetes refuses a wrong selection before it looks at the body.
  const list = isCollection ? listOptions(query) : undefined;
  if (list) parseSelection(list, target);
  if (context.source?.problem !== undefined) {
    throw badRequest(`couldn't get version/kind; json parse error: ${context.source.problem}`);
  }
  const options = deleteOptions(body, query);
  if (list) {
    const deleted = await deleteCollection(core, target, list, options, context, rendering);
    return answer(200, deleted, rendering, warnings);
  }
  const result = await deleteObject(core, target, options, context);
  const isStatus = result.kind === 'Status' && !('spec' in result);
  return answer(200, isStatus ? result : rendering.one(result as UnknownObject), rendering, warnings);
}

async function scale(call: Call): Promise<ApiResponse> {
  const { core, target, request, context, warnings } = call;
  const { method, body } = request;
  const json = (value: unknown) => answer(200, value, { contentType: 'application/json' }, warnings);
  if (method === 'GET') return json(getScale(core, target));
  if (method === 'PUT') {
    const options = optionsOf(request, context);
    const written = bodyOf(target.version, 'scale');
    const read = written ? decodeObject({ ...target, ...written }, body, options, warnings) : body;
    const named = textAt(read, ['metadata', 'name']);
    return json(await writeScale(core, target, options, context, () => read, named));
  }
  if (method !== 'PATCH') throw methodNotAllowed();
  const type = (request.contentType ?? '').split(';')[0]?.trim() ?? '';
  checkPatchType(target, type);
  if (isApply(type)) return json(await applyScale(core, target, body, optionsOf(request, context, true), context));
  if (type === PATCH_TYPES.json) {
    return json(
      await writeScale(core, target, optionsOf(request, context), context, (now) => atOnce(applyJsonPatch(now, body))),
    );
  }
  const change = isObject(body) ? body : {};
  const options = optionsOf(request, context);
  return json(await writeScale(core, target, options, context, (now) => applyMergePatch(now, change)));
}

function answer(
  status: number,
  body: unknown,
  { contentType }: Pick<Rendering, 'contentType'>,
  warnings: ReadonlySet<string>,
): ApiResponse {
  return { status, headers: { 'content-type': contentType, ...warningHeader(warnings) }, body };
}

const asItIs = (object: UnknownObject) => object;

/** A watch whose objects a webhook converts on their way to the client. No generator: it must end while it waits. */
function convertedWatch(stream: WatchStream, rendering: Rendering, settle: Conversions['settle']): WatchStream {
  const shown = (event: WatchEvent): WatchEvent => {
    if (event.type === 'BOOKMARK' || event.type === 'ERROR') return event;
    return { ...event, object: (rendering.event ?? rendering.one)(event.object as UnknownObject) };
  };
  return {
    [Symbol.asyncIterator]() {
      const iterator = stream[Symbol.asyncIterator]();
      return {
        async next() {
          const next = await iterator.next();
          return next.done === true ? next : { done: false, value: await settle(() => next.value.map(shown)) };
        },
        return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
      };
    },
  };
}

function targetOf(core: Core, path: ResourcePath, method: string): Target {
  const served = core.registry.find(path.group, path.version, path.plural);
  if (!served) throw core.registry.isOwn(path.group) ? notServed() : pageNotFound();
  const { resource, version } = served;
  const unserved = resource.custom ? pageNotFound : notServed;
  if (path.namespace !== undefined && !resource.namespaced) throw unserved();
  const name = path.name ?? '';
  // A single object of a namespaced resource has no path without its namespace.
  if (resource.namespaced && path.namespace === undefined && name !== '') throw unserved();
  // Only reads go across namespaces.
  if (resource.namespaced && path.namespace === undefined && method !== 'GET') {
    throw resource.custom ? unserved() : methodNotAllowed();
  }
  return { resource, version, namespace: path.namespace ?? '', name, subresource: path.subresource ?? '' };
}

const MAX_WARNINGS = 4096;
const MAX_WARNING = 256;

/** As Kubernetes writes them: code 299, without the name of a sender. */
export function warningHeader(warnings: ReadonlySet<string>): { warning?: string } {
  if (warnings.size === 0) return {};
  let total = 0;
  for (const one of warnings) total += one.length;
  // Send as much as Kubernetes does, so that the headers stay within the limits of clients.
  const shown = [...warnings].map((one) => (total > MAX_WARNINGS ? one.slice(0, MAX_WARNING) : one));
  const sent = total > MAX_WARNINGS ? shown.slice(0, MAX_WARNINGS / MAX_WARNING) : shown;
  // A header takes no DEL, which Go escapes in names.
  return {
    warning: sent.map((one) => `299 - ${JSON.stringify(one.replaceAll('\u007f', String.raw`\x7f`))}`).join(', '),
  };
}
