import {
  type ApiRequest,
  type ApiResponse,
  applyMergePatch,
  type UnknownObject,
  type WatchStream,
} from '@capstan/kube';
import type { Core, RequestContext } from '../core.ts';
import { badRequest, methodNotAllowed, notFound, notServed, pageNotFound, unsupportedMediaType } from '../errors.ts';
import { isObject, textAt } from '../json/copy.ts';
import { applyJsonPatch } from '../json/patches.ts';
import { nameOf } from '../resources/resource.ts';
import { openWatch } from '../watch/watch.ts';
import type { WatchHub } from '../watch/watch-hub.ts';
import { createObject } from './create.ts';
import { deleteCollection, deleteObject, deleteOptions } from './delete.ts';
import { checkNumbers, isTrue, listOptions, managerOf, watchOptions, writeOptions } from './options.ts';
import { checkPatchType, isApply, PATCH_TYPES, patchObject } from './patch.ts';
import { noStream, POD_SUBRESOURCES, podSubresource, type ReadLogs, STREAMS } from './pod-subresources.ts';
import { getObject, listObjects } from './read.ts';
import type { Renderer } from './render.ts';
import type { ResourcePath } from './route.ts';
import { getScale, writeScale } from './scale.ts';
import { checkSelectors, parseSelection } from './selectors.ts';
import { existing, type Target } from './target.ts';
import { replaceObject } from './update.ts';

export interface Dispatcher {
  (request: ApiRequest, path: ResourcePath, context: RequestContext): Promise<ApiResponse | WatchStream>;
}

/** Brings a request to the verb that it means. */
export function createDispatcher(core: Core, hub: WatchHub, render: Renderer, readLogs?: ReadLogs): Dispatcher {
  return async (request, path, context) => {
    const target = targetOf(core, path, request.method);
    const { method, query = {}, body } = request;
    const warnings = context.warnings ?? new Set<string>();
    const answer = (status: number, value: unknown): ApiResponse => ({
      status,
      headers: {
        'content-type': rendering.contentType,
        ...warningHeader(warnings),
      },
      body: value,
    });
    const deprecation = target.version.deprecationWarning;
    if (deprecation !== undefined && target.resource.custom) warnings.add(deprecation);
    const rendering = render(target.resource, target.version, {
      accept: request.accept ?? request.headers?.['accept'],
      includeObject: query['includeObject'],
      isList: method === 'GET' && target.name === '',
    });
    const write = (apply = false) => ({
      ...writeOptions(method, query, managerOf(request, context), apply),
      ...(context.duplicates && { complaints: context.duplicates }),
      ...(context.source && { source: context.source }),
    });

    const isServed =
      target.subresource === '' || target.version.subresources.some(({ name }) => name === target.subresource);
    // A method that a path does not have is refused before anything is said.
    if (method === 'PATCH' && !target.resource.custom && isServed) checkPatchType(target, request.contentType ?? '');
    const isTaken =
      method === 'POST' ? target.name === '' : target.name !== '' || method === 'GET' || method === 'DELETE';
    if (deprecation !== undefined && isServed && isTaken) warnings.add(deprecation);
    if (target.subresource === 'scale' && target.version.scale) return scale();
    if (!isServed) {
      if (target.resource.storageKey === '/pods' && STREAMS.has(target.subresource))
        throw noStream(existing(core, target), target.subresource);
      throw target.resource.custom && target.name !== '' ? notFound(nameOf(target.resource), target.name) : notServed();
    }

    if (target.resource.storageKey === '/pods' && POD_SUBRESOURCES.has(target.subresource)) {
      return podSubresource(core, readLogs, { target, request, context, options: write });
    }

    switch (method) {
      case 'GET': {
        checkNumbers(query);
        const wanted = { labelSelector: query['labelSelector'] ?? '', fieldSelector: query['fieldSelector'] ?? '' };
        const check = () => void parseSelection(wanted, target);
        // Selectors must be such; whether the kind has their fields is looked at later.
        checkSelectors(wanted);
        if (isTrue(query, 'watch'))
          return openWatch(core, hub, target, watchOptions(query, check), rendering, request.signal);
        if (target.name === '') return answer(200, listObjects(core, target, listOptions(query, check), rendering));
        return answer(200, rendering.one(getObject(core, target, query['resourceVersion'] ?? '')));
      }
      case 'POST': {
        // Custom resources are made under any name that the path has.
        if (target.name !== '' && (!target.resource.custom || target.subresource !== '')) throw methodNotAllowed();
        return answer(201, shown(await createObject(core, { ...target, name: '' }, body, write(), context, warnings)));
      }
      case 'PUT': {
        if (target.name === '') throw target.resource.custom ? badRequest('name must be provided') : methodNotAllowed();
        const { object, created } = await replaceObject(core, target, body, write(), context, warnings);
        return answer(created ? 201 : 200, shown(object));
      }
      case 'PATCH': {
        if (target.name === '') throw methodNotAllowed();
        const type = request.contentType ?? request.headers?.['content-type'] ?? '';
        checkPatchType(target, type);
        const options = write(isApply(type));
        const { object, created } = await patchObject(core, target, body, type, options, context, warnings);
        return answer(created ? 201 : 200, shown(object));
      }
      case 'DELETE': {
        if (target.subresource !== '') throw methodNotAllowed();
        if (context.source?.problem !== undefined) {
          throw badRequest(`couldn't get version/kind; json parse error: ${context.source.problem}`);
        }
        const options = deleteOptions(body, query);
        if (target.name === '') {
          if (!target.resource.verbs.includes('deletecollection')) throw methodNotAllowed();
          return answer(200, await deleteCollection(core, target, listOptions(query), options, context, rendering));
        }
        const result = await deleteObject(core, target, options, context);
        return answer(200, result.kind === 'Status' && !('spec' in result) ? result : shown(result as UnknownObject));
      }
    }

    function shown(object: UnknownObject): UnknownObject {
      return rendering.one(object);
    }

    async function scale(): Promise<ApiResponse> {
      const json = (value: unknown) => {
        const { headers, ...rest } = answer(200, value);
        return { ...rest, headers: { ...headers, 'content-type': 'application/json' } };
      };
      if (method === 'GET') return json(getScale(core, target));
      if (method === 'PUT') {
        const named = textAt(body, ['metadata', 'name']);
        return json(await writeScale(core, target, write(), context, () => body, named));
      }
      if (method !== 'PATCH') throw methodNotAllowed();
      const type = (request.contentType ?? '').split(';')[0]?.trim() ?? '';
      if (type === PATCH_TYPES.json) {
        return json(await writeScale(core, target, write(), context, (now) => applyJsonPatch(now, body)));
      }
      if (type !== PATCH_TYPES.merge && type !== PATCH_TYPES.strategic && !isApply(type)) {
        throw unsupportedMediaType(Object.values(PATCH_TYPES));
      }
      const patch = isObject(body) ? body : {};
      return json(await writeScale(core, target, write(isApply(type)), context, (now) => applyMergePatch(now, patch)));
    }
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
  // Of custom resources only reading goes across namespaces.
  if (resource.custom && resource.namespaced && path.namespace === undefined && method !== 'GET') throw unserved();
  return { resource, version, namespace: path.namespace ?? '', name, subresource: path.subresource ?? '' };
}

const MAX_WARNINGS = 4096;
const MAX_WARNING = 256;

/** As Kubernetes writes them: code 299, nobody named as the sender. */
export function warningHeader(warnings: ReadonlySet<string>): { warning?: string } {
  if (warnings.size === 0) return {};
  let total = 0;
  for (const one of warnings) total += one.length;
  // As much as Kubernetes sends, so that the headers stay within what clients read.
  const shown = [...warnings].map((one) => (total > MAX_WARNINGS ? one.slice(0, MAX_WARNING) : one));
  const sent = total > MAX_WARNINGS ? shown.slice(0, MAX_WARNINGS / MAX_WARNING) : shown;
  return { warning: sent.map((one) => `299 - ${JSON.stringify(one)}`).join(', ') };
}
