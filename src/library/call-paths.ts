/** Functions of a ledger by the names of their calls, such as `editions.undo`. */
import type { Ledger } from './ledger.js'

/** The function of a ledger with this name. */
export type FunctionOf<Name extends string, Of = Ledger> = Name extends keyof Of
  ? Of[Name]
  : Name extends `${infer First}.${infer Rest}`
    ? First extends keyof Of
      ? FunctionOf<Rest, Of[First]>
      : never
    : never

/** The part of a ledger that has the functions with these names. */
export type PartOf<Name extends string, Of = Ledger> = {
  readonly [Key in keyof Of & FirstOf<Name>]: Key extends Name ? Of[Key] : PartOf<RestOf<Name, Key>, Of[Key]>
}
type FirstOf<Name extends string> = Name extends `${infer First}.${string}` ? First : Name
type RestOf<Name extends string, First extends string> = Name extends `${First}.${infer Rest}` ? Rest : never

type AnyFunction = (...args: readonly unknown[]) => unknown

/** Calls a function of a ledger by its name. */
export function callByName(ledger: object, name: string, args: readonly unknown[]): unknown {
  const steps = name.split('.')
  const owner = steps.slice(0, -1).reduce<unknown>(member, ledger)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the name is that of a function
  return Reflect.apply(member(owner, steps.at(-1) ?? '') as AnyFunction, owner, args)
}

const member = (of: unknown, name: string): unknown => Reflect.get(Object(of), name)

/** A part of a ledger, made of functions and their names. */
export function partOf<const Name extends string>(
  functions: readonly (readonly [name: Name, called: AnyFunction])[],
): PartOf<Name> {
  const part: Record<string, unknown> = {}
  for (const [name, called] of functions) {
    const steps = name.split('.')
    let owner = part
    for (const step of steps.slice(0, -1)) owner = Object((owner[step] ??= {}))
    owner[steps.at(-1) ?? ''] = called
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the loop follows the names
  return part as PartOf<Name>
}
