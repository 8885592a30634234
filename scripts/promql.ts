// Reads a query of Prometheus as far as alerts and dashboards here use the language, and returns the metrics and labels that it
// names. https://prometheus.io/docs/prometheus/latest/querying/basics/
export interface Query {
  readonly metrics: readonly string[];
  /** The labels of selectors and of `by`. */
  readonly labels: readonly string[];
}

/** Throws where the text is no query. */
export function parseQuery(text: string): Query {
  const tokens = [...text.matchAll(TOKEN)].map(([token]) => token);
  if (tokens.join('') !== text.replaceAll(/\s/g, '')) throw new Error(`${text}: has a character that no query has`);
  const [metrics, labels] = [new Set<string>(), new Set<string>()];
  let at = 0;
  const is = (...expected: string[]) => expected.includes(tokens[at] ?? '');
  const fail = (expected: string): never => {
    throw new Error(`${text}: ${tokens[at] ?? 'the end'} where ${expected} is expected`);
  };
  const take = (expected: string) => (is(expected) ? at++ : fail(expected));
  const matches = (pattern: RegExp, what: string) => {
    const token = tokens[at] ?? '';
    if (!pattern.test(token)) fail(what);
    at++;
    return token;
  };
  const list = (close: string, item: () => void) => {
    while (!is(close)) {
      item();
      if (!is(close)) take(',');
    }
    take(close);
  };

  function expression(level = 0): void {
    const operators = LEVELS[level];
    if (operators === undefined) {
      unary();
      return;
    }
    expression(level + 1);
    while (is(...operators)) {
      at++;
      if (is('bool')) at++;
      grouping('on', 'ignoring');
      expression(level + 1);
    }
  }

  function unary(): void {
    if (is('-')) at++;
    if (is('(')) {
      take('(');
      expression();
      take(')');
    } else if (NUMBER.test(tokens[at] ?? '')) at++;
    else named();
    if (is('[')) {
      take('[');
      matches(DURATION, 'a duration');
      take(']');
    }
  }

  function named(): void {
    const name = matches(NAME, 'a name');
    const isAggregation = AGGREGATIONS.has(name);
    if (isAggregation) grouping('by', 'without');
    if (is('(')) {
      if (!isAggregation && !FUNCTIONS.has(name)) throw new Error(`${text}: the function ${name} is not known`);
      take('(');
      list(')', () => expression());
      if (isAggregation) grouping('by', 'without');
      return;
    }
    metrics.add(name);
    if (!is('{')) return;
    take('{');
    list('}', () => {
      labels.add(matches(NAME, 'a label'));
      matches(/^(?:=|!=|=~|!~)$/, 'a comparison of a label');
      matches(/^"/, 'a string');
    });
  }

  function grouping(...words: string[]): void {
    if (!is(...words)) return;
    at++;
    take('(');
    list(')', () => labels.add(matches(NAME, 'a label')));
  }

  expression();
  if (at !== tokens.length) fail('the end');
  return { metrics: [...metrics], labels: [...labels] };
}

const TOKEN = /"(?:[^"\\]|\\.)*"|\d+(?:\.\d+)?(?:[a-z]+\d*)*|[A-Za-z_:][\w:]*|=~|!~|!=|==|>=|<=|[-+*/%^<>=(){}[\],]/g;
const NAME = /^[A-Za-z_]/;
const NUMBER = /^\d+(?:\.\d+)?(?:e\d+)?$/;
const DURATION = /^(?:\d+(?:ms|[smhdwy]))+$/;
const LEVELS = [['or'], ['and', 'unless'], ['==', '!=', '<=', '<', '>=', '>'], ['+', '-'], ['*', '/', '%'], ['^']];
const AGGREGATIONS = new Set(['sum', 'min', 'max', 'avg', 'count', 'topk', 'bottomk', 'quantile', 'stddev', 'group']);
const FUNCTIONS = new Set([
  'rate',
  'irate',
  'increase',
  'changes',
  'histogram_quantile',
  'abs',
  'absent',
  'time',
  'delta',
  'clamp_min',
]);
