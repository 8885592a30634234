// Dynamic admission. The webhooks of MutatingWebhookConfigurations are called one after the other, each with the object as the earlier ones
// changed it. Those of ValidatingWebhookConfigurations are called all at once, with the object to be stored.
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
import { type Admission, type AdmissionRequest, type Core, newUid, type ValidatingAdmission } from '../core.ts';
import { dryRunUnsupported, forbidden, internalError, webhookDenied } from '../errors.ts';
import { nameOf, type ResourceVersion } from '../resources/resource.ts';
import { asRequested, asVersion } from './as-version.ts';
import { CallFailure } from './call-failure.ts';
import type { CallWebhook } from './call-webhook.ts';
import { type ConditionCompiler, createConditionCompiler } from './match-conditions.ts';
import { isExempt, isSelected, versionFor } from './matching.ts';
import { patchObject } from './patch-object.ts';
import { type ReviewAnswer, readAnswer, reviewOf, reviewRequest } from './review.ts';
import { MUTATING, VALIDATING, type Webhook, watchWebhooks } from './webhook.ts';

export interface AdmissionWebhooks {
  readonly mutate: Admission;
  readonly validate: ValidatingAdmission;
}

/** A webhook, and the version in which it wants to see the request. */
interface Candidate {
  webhook: Webhook;
  version: ResourceVersion;
}

export function createAdmissionWebhooks(
  core: Pick<Core, 'store' | 'random' | 'logger'>,
  call: CallWebhook,
  conditions: ConditionCompiler = createConditionCompiler(),
): AdmissionWebhooks {
  const { store, logger } = core;
  const mutating = watchWebhooks(store, MUTATING, conditions);
  const validating = watchWebhooks(store, VALIDATING, conditions);

  const candidatesOf = (webhooks: readonly Webhook[], request: AdmissionRequest): Candidate[] => {
    if (webhooks.length === 0 || isExempt(request.resource)) return [];
    return webhooks.flatMap((webhook) => {
      const version = versionFor(webhook, request);
      return version ? [{ webhook, version }] : [];
    });
  };

  /** The request as it is sent to the webhook; undefined when the webhook does not match it. */
  const reviewFor = ({ webhook, version }: Candidate, request: AdmissionRequest) => {
    if (!isSelected(store, webhook, request)) return undefined;
    const shown = asVersion(request, version);
    const uid = newUid(core.random);
    const { object, oldObject, ...about } = reviewRequest(uid, shown, version);
    const result = webhook.conditions({ object, oldObject, request: about });
    if (typeof result !== 'boolean') {
      if (webhook.failsOpen) return undefined;
      throw forbidden(nameOf(request.resource), request.name, result.problem);
    }
    return result ? { uid, shown, request: { ...about, object, oldObject } } : undefined;
  };

  /** Undefined: it could not be asked, and its failurePolicy is to go on without it. */
  const ask = async (
    webhook: Webhook,
    { uid, request: sent }: NonNullable<ReturnType<typeof reviewFor>>,
    request: AdmissionRequest,
    mayPatch: boolean,
  ): Promise<ReviewAnswer | undefined> => {
    if (request.dryRun && !webhook.allowsDryRun) throw dryRunUnsupported(webhook.name);
    let answer: ReviewAnswer;
    try {
      const given = await call(webhook.client, reviewOf(webhook, sent), webhook.timeoutSeconds);
      answer = readAnswer(given, webhook, uid, mayPatch);
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error;
      const problem = `failed calling webhook ${JSON.stringify(webhook.name)}: ${error.message}`;
      if (!webhook.failsOpen) throw internalError(problem);
      logger.warn('a webhook could not be asked, and what it is about went on without it', { problem });
      return undefined;
    }
    for (const warning of answer.warnings) request.context.warnings?.add(warning);
    if (!answer.allowed) throw webhookDenied(webhook.name, answer.status);
    return answer;
  };

  const mutateAll = async (candidates: readonly Candidate[], request: AdmissionRequest) => {
    let { object } = request;
    // The webhooks that want to see later changes. Each is called a second time at most.
    const asked = new Set<Candidate>();
    const again = new Set<Candidate>();
    for (const isFirst of [true, false]) {
      for (const candidate of candidates) {
        if (!isFirst && !again.has(candidate)) continue;
        const { webhook, version } = candidate;
        const present = { ...request, object };
        const review = reviewFor(candidate, present);
        if (!review) continue;
        const answer = await ask(webhook, review, present, true);
        const patched =
          answer?.patch === undefined ? undefined : patchObject(webhook, review.shown, version, answer.patch);
        if (patched) {
          object = asRequested(patched, request, version);
          for (const one of asked) again.add(one);
        }
        if (webhook.isReinvoked) asked.add(candidate);
      }
      if (again.size === 0) break;
    }
    return object === request.object ? undefined : object;
  };

  const validateAll = async (candidates: readonly Candidate[], request: AdmissionRequest) => {
    const concerned = candidates.flatMap(({ webhook, version }) => {
      const review = reviewFor({ webhook, version }, request);
      return review ? [{ webhook, review }] : [];
    });
    const results = await Promise.allSettled(
      concerned.map(({ webhook, review }) => ask(webhook, review, request, false)),
    );
    const refusal = results.find((one) => one.status === 'rejected');
    if (refusal) throw refusal.reason;
  };

  return {
    mutate(request) {
      const candidates = candidatesOf(mutating(), request);
      return candidates.length === 0 ? undefined : mutateAll(candidates, request);
    },
    validate(request) {
      const candidates = candidatesOf(validating(), request);
      return candidates.length === 0 ? undefined : validateAll(candidates, request);
    },
  };
}
