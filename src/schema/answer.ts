/**
 * Parts of answers. An answer is read leniently, so that this version can read a newer service: unknown fields are
 * kept, and a name from a list may be one that this version does not know.
 */
import { z } from 'zod'

/** An object. Unknown fields are kept, although the type does not have them. */
export const record = <Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape> => z.looseObject(shape)

/** A field that is absent or has a value. JSON has no `undefined`. */
export const optional = <Schema extends z.ZodType>(schema: Schema): z.ZodExactOptional<Schema> =>
  // The generator of the OpenAPI document knows `ZodOptional` only. Both read JSON in the same way.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  schema.optional() as unknown as z.ZodExactOptional<Schema>

/** A field that the library always has, with `undefined` for no value. In JSON it is absent then. */
export const orUndefined = <Schema extends z.ZodType>(
  schema: Schema,
): z.ZodType<z.output<Schema> | undefined, z.input<Schema> | undefined> => schema.optional()

/** A field for each of several names. */
export const fieldsFor = <const Name extends string, Schema extends z.ZodType>(
  names: readonly Name[],
  schema: Schema,
): Record<Name, Schema> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys are the names
  Object.fromEntries(names.map((name) => [name, schema])) as Record<Name, Schema>

/** One of several names. */
export const oneOf = <const Name extends string>(...names: readonly Name[]): z.ZodType<Name, Name> =>
  z.custom<Name>((value) => typeof value === 'string').meta({ type: 'string', enum: names })

type KindOption = z.ZodObject<{ kind: z.ZodLiteral<string> }>

/** One of several objects, which their `kind` tells apart. An object of a kind that this version does not know is kept. */
export function unionByKind<const Options extends readonly [KindOption, ...KindOption[]]>(
  ...options: Options
): z.ZodType<z.output<Options[number]>, z.input<Options[number]>> {
  const known = new Set(options.flatMap(({ shape }) => [...shape.kind.values]))
  const later = record({ kind: z.string().refine((kind) => !known.has(kind)) })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- kinds of later versions have no type
  return z.union([z.discriminatedUnion('kind', options), later]) as unknown as z.ZodType<
    z.output<Options[number]>,
    z.input<Options[number]>
  >
}

/** A value whose form is stated elsewhere, as it came: its bytes count, so its keys keep their order. */
export const verbatim = <Value>(
  type: 'object' | 'array' | readonly ('string' | 'array' | 'null')[],
  description: string,
): z.ZodType<Value, Value> => z.custom<Value>().meta({ type, description })

/**
 * An input that the ledger parses, and of which it reports what is wrong. The schema rejects what cannot be one, and
 * does not convert.
 */
export const parsedByLedger = <Value>(outline: z.ZodType): z.ZodType<Value, Value> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  outline as z.ZodType<Value, Value>

export const count = z.int()
export const tokens = z.int().meta({ description: 'Tokens by the estimator of the conversation' })

/** A type with all its arrays and fields readonly: the library's types are assignable to it. */
export type Immutable<T> = T extends readonly (infer Item)[]
  ? readonly Immutable<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Immutable<T[Key]> }
    : T

/** A type with all its fields required and defined, in all depths. */
type AllFields<T> = T extends readonly (infer Item)[]
  ? readonly AllFields<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]-?: AllFields<Exclude<T[Key], undefined>> }
    : T

/**
 * A type that is assignable only to one with the same fields in all depths. Two types are compared with it where the
 * compiler would accept an optional field that only one of them has.
 */
export type FieldsOf<T> = (value: AllFields<T>) => AllFields<T>
