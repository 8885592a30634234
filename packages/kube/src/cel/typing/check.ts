// The type check gives each expression a type and each call the overloads that fit, by unification of type parameters. An expression
// without a type is reported as an issue in cel-go's words.
import type { CallExpr, Expr, FoldExpr, SelectExpr } from '../syntax/ast.ts';
import { qualifiedName } from '../syntax/parser.ts';
import type { Issue } from '../syntax/source.ts';
import { checkLiterals } from './check-literals.ts';
import type { FunctionTable, Overload, ResolvedCall } from './overload.ts';
import { literalType, SORTABLE, TYPE_NAMES } from './type-names.ts';
import {
  allAssignable,
  BOOL,
  type CelType,
  DYN,
  ERROR,
  formatType,
  INT,
  isAssignable,
  isDyn,
  listOf,
  mapOf,
  mostGeneral,
  optionalOf,
  param,
  Substitution,
  substitute,
  typeOfType,
} from './types.ts';

export interface Environment {
  readonly functions: FunctionTable;
  readonly variables: ReadonlyMap<string, CelType>;
}

export interface Checked {
  readonly type: CelType;
  readonly types: ReadonlyMap<Expr, CelType>;
  readonly calls: ReadonlyMap<CallExpr, ResolvedCall>;
  /** Names that denote types: `int`, `google.protobuf.Timestamp`. */
  readonly typeNames: ReadonlyMap<Expr, string>;
  /** Variables that are used. */
  readonly names: ReadonlySet<string>;
  readonly issues: readonly Issue[];
}

export function checkCel(root: Expr, environment: Environment): Checked {
  const checker = new Checker(environment);
  const type = checker.check(root);
  // Substitute at the end: parameters may get their types after an expression was checked.
  const types = new Map([...checker.types].map(([expr, each]) => [expr, substitute(checker.bound, each, true)]));
  const { calls, typeNames, names, issues } = checker;
  checkLiterals(root, types, calls, issues);
  return { type: substitute(checker.bound, type, true), types, calls, typeNames, names, issues };
}

class Checker {
  readonly types = new Map<Expr, CelType>();
  readonly calls = new Map<CallExpr, ResolvedCall>();
  readonly typeNames = new Map<Expr, string>();
  readonly names = new Set<string>();
  readonly issues: Issue[] = [];
  readonly bound = new Substitution();
  readonly #environment: Environment;
  readonly #locals: Map<string, CelType>[] = [];
  #fresh = 0;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  check(expr: Expr): CelType {
    const type = this.#typeOf(expr);
    this.types.set(expr, type);
    return type;
  }

  #report(at: number, message: string): CelType {
    this.issues.push({ at, message });
    return ERROR;
  }

  #freshParam(): CelType {
    return param(`_var${this.#fresh++}`);
  }

  #typeOf(expr: Expr): CelType {
    switch (expr.op) {
      case 'literal':
        return literalType(expr.value);
      case 'ident': {
        return this.#named(expr, expr.name) ?? this.#undeclared(expr.at, expr.name);
      }
      case 'select':
        return this.#select(expr);
      case 'call':
        return this.#call(expr);
      case 'list': {
        let item: CelType | undefined;
        for (const [index, part] of expr.items.entries()) {
          const type = this.check(part);
          const inner = expr.optional.has(index) ? this.#unwrapped(part, type) : type;
          item = this.#joined(item, inner);
        }
        return listOf(item ?? this.#freshParam());
      }
      case 'map': {
        let key: CelType | undefined;
        let value: CelType | undefined;
        for (const entry of expr.entries) {
          key = this.#joined(key, this.check(entry.key));
          const type = this.check(entry.value);
          value = this.#joined(value, entry.isOptional ? this.#unwrapped(entry.value, type) : type);
        }
        return mapOf(key ?? this.#freshParam(), value ?? this.#freshParam());
      }
      case 'struct':
        return this.#undeclared(expr.at, expr.name);
      case 'fold':
        return this.#fold(expr);
      case 'bind': {
        const init = this.check(expr.init);
        return this.#within([[expr.name, init]], () => this.check(expr.body));
      }
    }
  }

  #undeclared(at: number, name: string): CelType {
    return this.#report(at, `undeclared reference to '${name}' (in container '')`);
  }

  #named(expr: Expr, written: string): CelType | undefined {
    const isAbsolute = written.startsWith('.');
    const name = isAbsolute ? written.slice(1) : written;
    const local = isAbsolute ? undefined : this.#local(name);
    if (local) return local;
    const variable = this.#environment.variables.get(name);
    if (variable) {
      this.names.add(name);
      return variable;
    }
    const type = TYPE_NAMES.get(name);
    if (!type) return undefined;
    this.typeNames.set(expr, name);
    return typeOfType(type);
  }

  #local(name: string): CelType | undefined {
    for (let depth = this.#locals.length - 1; depth >= 0; depth--) {
      const type = this.#locals[depth]?.get(name);
      if (type) return type;
    }
    return undefined;
  }

  #within(variables: readonly (readonly [string, CelType])[], run: () => CelType): CelType {
    this.#locals.push(new Map(variables));
    const type = run();
    this.#locals.pop();
    return type;
  }

  #unwrapped(expr: Expr, type: CelType): CelType {
    const known = substitute(this.bound, type);
    if (known.kind === 'optional') return known.of;
    if (!isDyn(known)) this.#mismatch(expr, optionalOf(known), known);
    return DYN;
  }

  #mismatch(expr: Expr, expected: CelType, found: CelType): void {
    this.#report(expr.at, `expected type '${this.#shown(expected)}' but found '${this.#shown(found)}'`);
  }

  #shown(type: CelType): string {
    return formatType(substitute(this.bound, type, true));
  }

  #joined(before: CelType | undefined, type: CelType): CelType {
    if (!before) return type;
    // Different types are reported at the end, when every type is known.
    return isAssignable(this.bound, type, before) ? mostGeneral(before, type) : DYN;
  }

  #select(expr: SelectExpr): CelType {
    const qualified = qualifiedName(expr);
    const root = qualified?.split('.')[0] ?? '';
    if (qualified !== undefined && !this.#local(root) && !this.#environment.variables.has(root)) {
      const type = this.#named(expr, qualified);
      if (type) return type;
    }
    const operand = substitute(this.bound, this.check(expr.operand));
    const target = operand.kind === 'optional' ? operand.of : operand;
    const field = this.#field(expr, substitute(this.bound, target));
    if (expr.isTest) return BOOL;
    return operand.kind === 'optional' || expr.isOptional ? optionalOf(field) : field;
  }

  #field({ field, at }: SelectExpr, target: CelType): CelType {
    switch (target.kind) {
      case 'map':
        return target.value;
      case 'object':
        return target.fields.get(field) ?? this.#report(at, `undefined field '${field}'`);
      case 'param':
        isAssignable(this.bound, DYN, target);
        return DYN;
      case 'dyn':
      case 'error':
        return DYN;
      default:
        this.#report(at, `type '${this.#shown(target)}' does not support field selection`);
        return DYN;
    }
  }

  #call(expr: CallExpr): CelType {
    const argTypes = expr.args.map((arg) => this.check(arg));
    const { functions } = this.#environment;
    const { target } = expr;
    if (!target) {
      const name = expr.name.replace(/^\./, '');
      const overloads = functions.get(name);
      return overloads ? this.#resolve(expr, overloads, expr.args, argTypes) : this.#undeclared(expr.at, expr.name);
    }
    const prefix = qualifiedName(target);
    const namespaced = prefix === undefined ? undefined : functions.get(`${prefix.replace(/^\./, '')}.${expr.name}`);
    if (namespaced) return this.#resolve(expr, namespaced, expr.args, argTypes);
    const targetType = this.check(target);
    const overloads = functions.get(expr.name);
    if (!overloads) return this.#undeclared(expr.at, expr.name);
    return this.#resolve(expr, overloads, [target, ...expr.args], [targetType, ...argTypes], true);
  }

  #resolve(
    expr: CallExpr,
    overloads: readonly Overload[],
    args: readonly Expr[],
    argTypes: readonly CelType[],
    isMethod = false,
  ): CelType {
    const found: Overload[] = [];
    let result: CelType | undefined;
    for (const overload of overloads) {
      if (overload.isMethod !== isMethod || overload.args.length !== args.length) continue;
      const instance = this.#instantiated(overload);
      if (!allAssignable(this.bound, argTypes, instance.args)) continue;
      found.push(overload);
      const type = substitute(this.bound, instance.result);
      if (!result) result = type;
      else if (!isDyn(result) && formatType(result) !== formatType(type)) result = DYN;
    }
    if (result) {
      this.calls.set(expr, { overloads: found, args });
      return result;
    }
    const shown = argTypes.map((type) => this.#shown(type));
    const signature = isMethod ? `${shown[0]}.(${shown.slice(1).join(', ')})` : `(${shown.join(', ')})`;
    return this.#report(expr.at, `found no matching overload for '${expr.name}' applied to '${signature}'`);
  }

  // The parameters of a signature are bound separately in each call.
  #instantiated({ args, result }: Overload): { args: CelType[]; result: CelType } {
    const own = new Map<string, CelType>();
    const rename = (type: CelType): CelType => {
      switch (type.kind) {
        case 'param': {
          const known = own.get(type.name) ?? this.#freshParam();
          own.set(type.name, known);
          return known;
        }
        case 'list':
          return listOf(rename(type.of));
        case 'optional':
          return optionalOf(rename(type.of));
        case 'map':
          return mapOf(rename(type.key), rename(type.value));
        case 'type':
          return type.of ? typeOfType(rename(type.of)) : type;
        default:
          return type;
      }
    };
    return { args: args.map(rename), result: rename(result) };
  }

  #fold(expr: FoldExpr): CelType {
    const range = substitute(this.bound, this.check(expr.range));
    if (expr.kind === 'optMap' || expr.kind === 'optFlatMap') return this.#optionalFold(expr, range);
    const variables = this.#iterated(expr, range);
    return this.#within(variables, () => {
      if (expr.filter) this.#expectBool(expr.filter);
      switch (expr.kind) {
        case 'all':
        case 'exists':
        case 'exists_one':
          this.#expectBool(expr.body);
          return BOOL;
        case 'map': {
          const key = range.kind === 'list' ? INT : range.kind === 'map' ? range.key : DYN;
          return mapOf(key, this.check(expr.body));
        }
        case 'mapEntry': {
          const entry = substitute(this.bound, this.check(expr.body));
          return entry.kind === 'map' ? entry : mapOf(DYN, DYN);
        }
        case 'sortBy': {
          const key = substitute(this.bound, this.check(expr.body));
          if (!isDyn(key) && !SORTABLE.has(key.kind)) {
            const shown = `${this.#shown(range)}.(${this.#shown(listOf(key))})`;
            const name = '@sortByAssociatedKeys';
            return this.#report(expr.at, `found no matching overload for '${name}' applied to '${shown}'`);
          }
          return range;
        }
        default:
          return listOf(this.check(expr.body));
      }
    });
  }

  #optionalFold(expr: FoldExpr, range: CelType): CelType {
    if (range.kind !== 'optional' && !isDyn(range) && range.kind !== 'param') {
      const shown = `${this.#shown(range)}.()`;
      return this.#report(expr.at, `found no matching overload for 'hasValue' applied to '${shown}'`);
    }
    const inner = range.kind === 'optional' ? range.of : DYN;
    const body = this.#within([[expr.variables[0] as string, inner]], () => this.check(expr.body));
    return expr.kind === 'optMap' ? optionalOf(body) : body;
  }

  #iterated(expr: FoldExpr, range: CelType): [string, CelType][] {
    const [first = '', second] = expr.variables;
    switch (range.kind) {
      case 'list':
        return second === undefined
          ? [[first, range.of]]
          : [
              [first, INT],
              [second, range.of],
            ];
      case 'map':
        return second === undefined
          ? [[first, range.key]]
          : [
              [first, range.key],
              [second, range.value],
            ];
      case 'dyn':
      case 'error':
      case 'param':
        if (range.kind === 'param') isAssignable(this.bound, DYN, range);
        return expr.variables.map((name) => [name, DYN]);
      default: {
        const shown = this.#shown(range);
        const message = `expression of type '${shown}' cannot be range of a comprehension (must be list, map, or dynamic)`;
        this.#report(expr.range.at, message);
        return expr.variables.map((name) => [name, ERROR]);
      }
    }
  }

  #expectBool(expr: Expr): void {
    const type = this.check(expr);
    if (!isAssignable(this.bound, type, BOOL)) this.#mismatch(expr, BOOL, type);
  }
}
