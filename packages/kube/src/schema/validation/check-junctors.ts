import { goQuote } from '../go-text.ts';
import type { JsonSchema } from '../json-schema.ts';
import { type Check, type CompileSchema, type Report, reportWithoutField } from './check.ts';

/** anyOf, oneOf, allOf and not; undefined when the schema has none of them. */
export function junctorCheck(schema: JsonSchema, compile: CompileSchema): Check | undefined {
  const anyOf = schema.anyOf?.map(compile) ?? [];
  const oneOf = schema.oneOf?.map(compile) ?? [];
  const allOf = schema.allOf?.map(compile) ?? [];
  const not = schema.not && compile(schema.not);
  if (anyOf.length + oneOf.length + allOf.length === 0 && !not) return undefined;

  return (value, path, report, old) => {
    let matched = 0;
    if (anyOf.length > 0) matched += checkAnyOf(anyOf, value, path, report, old);
    if (oneOf.length > 0) matched += checkOneOf(oneOf, value, path, report, old);
    if (allOf.length > 0) matched += checkAllOf(allOf, value, path, report, old);
    if (not && attempt(not, value, path, report, old).report.errors.length === 0) {
      reportWithoutField(report, `${goQuote(path)} must not validate the schema (not)`);
    }
    return matched;
  };
}

interface Attempt {
  report: Report;
  matched: number;
}

/** One by one: a list of a hundred thousand errors is too long for the arguments of a call. */
function addAll(report: Report, from: Report | undefined): void {
  for (const error of from?.errors ?? []) report.errors.push(error);
}

function attempt(check: Check, value: unknown, path: string, report: Report, old: unknown): Attempt {
  const own: Report = { errors: [], prefix: report.prefix };
  return { matched: check(value, path, own, old), report: own };
}

function checkAnyOf(branches: Check[], value: unknown, path: string, report: Report, old: unknown): number {
  let best: Attempt | undefined;
  for (const branch of branches) {
    const result = attempt(branch, value, path, report, old);
    if (result.report.errors.length === 0) return result.matched;
    if (!best || result.matched > best.matched) best = result;
  }
  reportWithoutField(report, `${goQuote(path)} must validate at least one schema (anyOf)`);
  addAll(report, best?.report);
  return best?.matched ?? 0;
}

function checkOneOf(branches: Check[], value: unknown, path: string, report: Report, old: unknown): number {
  let best: Attempt | undefined;
  let valid: Attempt | undefined;
  let alternatives = 0;
  for (const branch of branches) {
    const result = attempt(branch, value, path, report, old);
    if (result.report.errors.length === 0) {
      alternatives++;
      valid ??= result;
    } else if (!best || result.matched > best.matched) {
      best = result;
    }
  }
  if (alternatives === 1) return valid?.matched ?? 0;
  const found = alternatives === 0 ? 'Found none valid' : `Found ${alternatives} valid alternatives`;
  reportWithoutField(report, `${goQuote(path)} must validate one and only one schema (oneOf). ${found}`);
  if (alternatives > 0) return 0;
  addAll(report, best?.report);
  return best?.matched ?? 0;
}

function checkAllOf(branches: Check[], value: unknown, path: string, report: Report, old: unknown): number {
  let matched = 0;
  let valid = 0;
  for (const branch of branches) {
    const result = attempt(branch, value, path, report, old);
    if (result.report.errors.length === 0) valid++;
    addAll(report, result.report);
    matched += result.matched;
  }
  if (valid < branches.length) {
    const none = valid === 0 ? '. None validated' : '';
    reportWithoutField(report, `${goQuote(path)} must validate all the schemas (allOf)${none}`);
  }
  return matched;
}
