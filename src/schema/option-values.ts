/**
 * The values that options take, with the sentences for wrong ones. Each sentence continues the name of its option:
 * `limit must be a whole number above 0`.
 */
import { either as E } from 'fp-ts'
import { z } from 'zod'
import { parsePrices, type BadPrices, type Price, type PriceTable } from '../domain/reports/prices.js'
import { checkId, type BadId } from '../domain/values/ids.js'
import { parseInstant } from '../domain/values/moment.js'
import { parsePolicySettings, type BadPolicy } from '../domain/values/policy.js'
import type { PolicySettings } from '../domain/values/policy-settings.js'
import { isRevision } from '../domain/values/revision.js'
import { unknownName } from '../domain/text/known-names.js'
import { issueSentence } from '../domain/values/issue-sentence.js'
import { ofForm, type InputOf, type OptionShape, type OutputOf } from './call.js'

/** What is wrong with a value. */
interface Wrong {
  readonly detail: string
  /** The part of the value that is wrong. */
  readonly path?: readonly (string | number)[]
  /** The failure itself, if its kind is another one than `BadInput`. */
  readonly failure?: BadId | BadPolicy
}

const missingOr =
  (what: string) =>
  ({ input }: { readonly input?: unknown }): string =>
    input === undefined ? 'is missing' : what

/** A value that a function of the domain parses. */
const parsedBy = <Output, Input>(parse: (input: Input) => E.Either<Wrong, Output>): z.ZodType<Output, Input> =>
  z.custom<Input>().transform((input, context): Output => {
    const parsed = parse(input)
    if (E.isRight(parsed)) return parsed.right
    const { detail, path, failure } = parsed.left
    context.addIssue({
      code: 'custom',
      message: detail,
      ...(path === undefined ? {} : { path: [...path] }),
      ...(failure === undefined ? {} : { params: { failure } }),
    })
    return z.NEVER
  })

/** The failure of a kind of its own that an issue is about. */
export const failureOf = ({ params }: z.core.$ZodIssueCustom): Wrong['failure'] =>
  // Only `parsedBy` adds it.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  params?.['failure'] as Wrong['failure']

/** A value that is used as it is if `wrong` finds nothing wrong with it. */
export const checkedBy = <Value>(wrong: (value: unknown) => string | undefined): z.ZodType<Value, Value> =>
  z.custom<Value>().superRefine((value, context) => {
    const detail = wrong(value)
    if (detail !== undefined) context.addIssue(detail)
  })

const plainText = (): z.ZodString => z.string({ error: missingOr('must be a text') }).min(1, 'is empty')

/** A text. */
export const text = (): z.ZodType<string, string> => ofForm(plainText(), { kind: 'text' })

/** A name that a database is asked for, which neither it nor UTF-8 refuses. */
export const name = (): z.ZodType<string, string> =>
  ofForm(
    plainText()
      .refine((value) => !value.includes('\0'), 'has a NUL character')
      .refine((value) => value.isWellFormed(), 'has a lone surrogate'),
    { kind: 'text' },
  )

/** A name that is recorded: an actor, a scope, an id. */
export const recordedName = (): z.ZodType<string, string> =>
  ofForm(
    checkedBy<string>((value) => {
      const checked = checkId('', value)
      return E.isLeft(checked) ? checked.left.detail : undefined
    }),
    { kind: 'text' },
  )

/** The id of a conversation that is read. */
export const conversationId = (): z.ZodType<string, string> =>
  ofForm(
    parsedBy<string, string>((value) =>
      E.mapLeft((failure: BadId) => ({ detail: failure.detail, failure }))(checkId('conversationId', value)),
    ),
    { kind: 'text' },
  )

/** A text that is recorded, such as a reason. */
export const recordedText = (): z.ZodType<string, string> =>
  ofForm(
    checkedBy<string>((value) =>
      typeof value !== 'string' || value.trim() === ''
        ? 'is missing: it is recorded'
        : value.isWellFormed()
          ? undefined
          : 'has a lone surrogate',
    ),
    { kind: 'text' },
  )

/** One of several names. */
export const oneOf = <const Names extends readonly [string, ...string[]]>(
  choices: Names,
  sentence = `must be one of ${choices.join(', ')}`,
): z.ZodType<Names[number], Names[number]> => ofForm(z.enum(choices, sentence), { kind: 'choice', choices })

/** A whole number, `least` or more. */
export function wholeNumber(least: 0 | 1): z.ZodType<number, number> {
  const sentence = least === 0 ? 'must be a whole number, 0 or more' : 'must be a whole number above 0'
  return ofForm(z.int(sentence).min(least, sentence), { kind: 'whole', least })
}

/** A whole number of at least `least`. `sentence` says so. */
export const wholeFrom = (least: number, sentence: string): z.ZodType<number, number> =>
  ofForm(z.int(sentence).min(least, sentence), { kind: 'whole', least })

/** The number of a cycle. */
export const cycleNumber = (): z.ZodType<number, number> => wholeFrom(1, 'must be the number of a cycle, from 1')

/** Milliseconds, 0 or more. */
export const milliseconds = (): z.ZodType<number, number> => {
  const sentence = 'must be a number of milliseconds, 0 or more'
  return ofForm(z.number(sentence).min(0, sentence), { kind: 'whole', least: 0 })
}

/** A position in the log. */
export const position = (): z.ZodType<number, number> =>
  ofForm(z.int('must be a position (a whole number)'), { kind: 'position' })

/** A revision of a conversation, or -1 where `sentence` allows it. */
export const revision = (sentence: string, allowsNone = false): z.ZodType<number, number> =>
  ofForm(
    checkedBy<number>((value) => (isRevision(value) || (allowsNone && value === -1) ? undefined : sentence)),
    { kind: 'position' },
  )

/** True or false. */
export const flag = (): z.ZodType<boolean, boolean> => ofForm(z.boolean('must be true or false'), { kind: 'flag' })

/** A time, as the read models have it: ISO 8601 in UTC. */
export const time = (): z.ZodType<string, Date | string> =>
  ofForm(
    parsedBy<string, Date | string>((input) => {
      const instant = parseInstant('', input)
      if (E.isLeft(instant)) return instant
      const iso = new Date(instant.right).toISOString()
      // Rows are compared as texts, and a year of six digits begins with a sign.
      return /^\d/u.test(iso) ? E.right(iso) : E.left({ detail: 'is no time between the years 0 and 9999' })
    }),
    { kind: 'time' },
  )

/**
 * A moment of a conversation. A `number`, or a text of digits as `answers.revision` has it, is a revision. A `Date`, or
 * an ISO 8601 text with its zone (`2026-03-01T12:30:00Z`), is an instant of the ledger's clock and selects the last
 * event recorded at or before it. Any other text is the id of a message and selects the revision of its event. If an id
 * looks like a revision or a time, write `message:ID`.
 */
export type At = number | Date | string

/** A moment. It is parsed for a conversation. */
export const moment = (): z.ZodType<At, At> => ofForm(z.custom<At>(), { kind: 'moment' })

/** Policy settings. */
export const policySettings = (): z.ZodType<PolicySettings, PolicySettings> =>
  parsedBy((settings) =>
    E.mapLeft((failure: BadPolicy) => ({ detail: failure.detail, failure }))(parsePolicySettings(settings)),
  )

/** A price table. */
export const priceTable = (): z.ZodType<PriceTable, PriceTable> =>
  parsedBy((prices) =>
    E.mapLeft(({ field, detail }: BadPrices) => ({ detail, ...(field === '' ? {} : { path: [field] }) }))(
      parsePrices(prices),
    ),
  )

/** The price of a model. */
export const modelPrice = (): z.ZodType<Price, Price> =>
  parsedBy((price) =>
    E.bimap(
      ({ field, detail }: BadPrices) => ({
        detail,
        ...(field === 'price' ? {} : { path: [field.replace('price.', '')] }),
      }),
      (table: PriceTable) => table['price'] ?? price,
    )(parsePrices({ price })),
  )

/** An abort signal. An invalid one would fail in the middle of the work. */
export const signal = (): z.ZodType<AbortSignal, AbortSignal> =>
  checkedBy((value) =>
    typeof value === 'object' && value !== null && 'aborted' in value ? undefined : 'must be an AbortSignal',
  )

/** A function that is called during the call. Its errors end the call; a promise that it returns is not awaited. */
export const listener = <Heard extends readonly unknown[]>(): z.ZodType<
  (...heard: Heard) => void,
  (...heard: Heard) => void
> =>
  ofForm(
    checkedBy((value) => (typeof value === 'function' ? undefined : 'must be a function')),
    { kind: 'listener' },
  )

/** A function that is called at any time. The ledger handles its errors. */
export const backgroundListener = <Heard extends readonly unknown[]>(): z.ZodType<
  (...heard: Heard) => void,
  (...heard: Heard) => void
> => checkedBy((value) => (typeof value === 'function' ? undefined : 'must be a function'))

/** A function that is called during the call, which awaits the promise that it returns. */
export const awaitedListener = <Heard extends readonly unknown[]>(): z.ZodType<
  (...heard: Heard) => void | Promise<void>,
  (...heard: Heard) => void | Promise<void>
> =>
  ofForm(
    checkedBy((value) => (typeof value === 'function' ? undefined : 'must be a function')),
    {
      kind: 'awaitedListener',
    },
  )

/** Names of some things, or all of these. A plain string would otherwise be read letter by letter. */
export const namedOrAll = (
  names: string,
  things: string,
): z.ZodType<readonly string[] | 'all', readonly string[] | 'all'> =>
  parsedBy((given: readonly string[] | 'all') => {
    if (given === 'all') return E.right(given)
    const value: unknown = given
    if (value === undefined) return E.left({ detail: `is missing: a list of ${names}, or "all"` })
    if (!Array.isArray(value)) return E.left({ detail: `must be a list of ${names}, or "all"` })
    if (value.length === 0) return E.left({ detail: `is empty: name ${things}, or "all"` })
    // A list with holes passes them over, and a hole is no name.
    return listOf(name(), Array.from(value))
  })

/** Each item of a list by a schema. */
function listOf<Output>(schema: z.ZodType<Output>, items: readonly unknown[]): E.Either<Wrong, readonly Output[]> {
  const outputs: Output[] = []
  for (const [at, item] of items.entries()) {
    const parsed = schema.safeParse(item)
    if (!parsed.success) return E.left(wrongOf(parsed.error.issues[0], [at]))
    outputs.push(parsed.data)
  }
  return E.right(outputs)
}

/** What an issue says about a part of a value. */
function wrongOf(issue: z.core.$ZodIssue | undefined, within: readonly (string | number)[]): Wrong {
  const failure = issue?.code === 'custom' ? failureOf(issue) : undefined
  return {
    detail: issueSentence(issue),
    path: [...within, ...(issue?.path ?? []).map((step) => (typeof step === 'number' ? step : String(step)))],
    ...(failure === undefined ? {} : { failure }),
  }
}

/** A list with at least one item. `missing` is the sentence if there is none. */
export const filledList = <Output, Input>(
  item: z.ZodType<Output, Input>,
  missing: string,
): z.ZodType<readonly Output[], readonly Input[]> =>
  parsedBy((given: readonly Input[]) =>
    // A list with holes passes them over, and a hole is no item.
    Array.isArray(given) && given.length > 0 ? listOf(item, Array.from(given)) : E.left({ detail: missing }),
  )

/**
 * An object with the fields of a shape.
 * @param what a name of its fields, for the error of an unknown one
 * @param sentence the error for a value that is no object
 */
export const group = <Shape extends OptionShape>(
  what: string,
  sentence: string,
  shape: Shape,
): z.ZodType<OutputOf<Shape>, InputOf<Shape>> =>
  parsedBy((given: InputOf<Shape>): E.Either<Wrong, OutputOf<Shape>> => {
    if (typeof given !== 'object' || given === null) return E.left({ detail: sentence })
    const unknown = unknownName(given, Object.keys(shape), what)
    if (unknown !== undefined) return E.left({ detail: unknown.detail, path: [unknown.field] })
    const values = new Map<string, unknown>(Object.entries(given))
    const output: Record<string, unknown> = {}
    for (const [field, schema] of Object.entries(shape)) {
      const value = values.get(field)
      if (value === undefined && schema instanceof z.ZodExactOptional) continue
      const parsed = schema.safeParse(value)
      if (!parsed.success) return E.left(wrongOf(parsed.error.issues[0], [field]))
      output[field] = parsed.data
    }
    // The fields were parsed by the schemas of the shape.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return E.right(output as OutputOf<Shape>)
  })

/** A value that the call itself checks. */
export const unchecked = <Value>(): z.ZodType<Value, Value> => z.custom<Value>()
