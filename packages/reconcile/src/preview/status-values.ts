// The values of statuses that a preview foresees, compared with those that came.

interface Condition {
  readonly type?: string;
  readonly status?: string;
  readonly reason?: string;
}

/**
 * Returns a line for each condition that is otherwise than in each of the foreseen statuses. There are several of them where pods become
 * ready or time passes in between. Each of them is right.
 */
export function unforeseenConditions(foreseen: readonly unknown[], real: unknown): string[] {
  const types = new Set(foreseen.flatMap((one) => conditionsOf(one).map(({ type }) => type ?? '')));
  return [...types].flatMap((type) => {
    const expected = [...new Set(foreseen.map((one) => textOf(one, type)))];
    const found = textOf(real, type);
    return expected.includes(found) ? [] : [`${type} is ${found}, and the plan shows ${expected.join(' or ')}`];
  });
}

function textOf(status: unknown, type: string): string {
  const found = conditionsOf(status).find((one) => one.type === type);
  return found === undefined ? 'absent' : `${found.status} (${found.reason})`;
}

function conditionsOf(status: unknown): readonly Condition[] {
  const { conditions } = (status ?? {}) as { conditions?: unknown };
  return Array.isArray(conditions) ? (conditions as readonly Condition[]) : [];
}
