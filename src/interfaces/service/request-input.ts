/** Validates what a request gives for its route: conditions, query and body. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { unknownName } from '../../domain/text/known-names.js'
import { issueSentence } from '../../domain/values/issue-sentence.js'
import { isRecord } from '../../lib/is-record.js'
import { MOST_LISTED } from '../../schema/fields.js'
import { routes } from '../../schema/index.js'
import type { Route } from '../../schema/route.js'
import { Refused } from './problems.js'

/** Routes with an optional body. */
export const MAY_BE_EMPTY: ReadonlySet<string> = new Set(
  Object.entries<Route>(routes).flatMap(([name, { body }]) => (body?.safeParse({}).success === true ? [name] : [])),
)

/** Rejects a conditional header that the route ignores, because the caller relies on it. */
export function refuseConditions({ headers: heeded, method }: Route, headers: Headers): void {
  for (const name of ['if-match', 'if-none-match', 'idempotency-key'])
    if (method !== 'get' && headers.has(name) && heeded[name] === undefined)
      throw new Refused('BadRequest', `${name} goes with appending messages alone`, { field: name })
}

/** The query of an address, each name once. */
export function queryOf(url: string, { query }: Route): Readonly<Record<string, string>> {
  if (!url.includes('?')) return {}
  const { searchParams } = new URL(url)
  const found: Record<string, string> = {}
  for (const [name, value] of searchParams) {
    if (Object.hasOwn(found, name)) throw new Refused('BadRequest', `${name} is given twice`, { field: name })
    Object.defineProperty(found, name, { value, enumerable: true })
  }
  const wrong = unknownName(found, Object.keys(query.shape), 'parameter of this address')
  if (wrong !== undefined) throw new Refused('BadRequest', `${wrong.field} ${wrong.detail}`, { field: wrong.field })
  return found
}

/** Where a part of a list begins. */
interface ListPart {
  readonly name: string
  readonly from: number
}

/** A value by its schema; throws with the field that is wrong. */
export function parsed(
  schema: Route['query'] | NonNullable<Route['body']>,
  value: unknown,
  what: string,
  part?: ListPart,
): unknown {
  const read = schema.safeParse(value)
  if (read.success) return read.data
  const [issue] = read.error.issues
  const path = (issue?.path ?? []).map((step, at) =>
    at === 1 && typeof step === 'number' && issue?.path[0] === part?.name ? step + (part?.from ?? 0) : step,
  )
  const field = path.join('.')
  throw new Refused(
    'BadRequest',
    `${field === '' ? what : field} ${issueSentence(issue)}`,
    field === '' ? {} : { field },
  )
}

/** Items that are validated between two turns of the event loop. */
const PART_ITEMS = 256

/** The first list of a body that has more items than one part. */
function longListOf(body: unknown): readonly [string, readonly unknown[]] | undefined {
  if (!isRecord(body)) return undefined
  for (const [name, value] of Object.entries(body))
    if (Array.isArray(value) && value.length > PART_ITEMS) return [name, value]
  return undefined
}

/** A body by its schema. A long list is validated in parts, and other requests are answered between them. */
export async function parsedInParts(schema: NonNullable<Route['body']>, body: unknown): Promise<unknown> {
  const longList = longListOf(body)
  if (longList === undefined) return parsed(schema, body, 'the body')
  const [name, list] = longList
  const read = (part: readonly unknown[], from: number): unknown =>
    parsed(schema, { ...Object(body), [name]: part }, 'the body', { name, from })
  // The schema rejects a list that is too long.
  if (list.length > MOST_LISTED) read(list.slice(0, MOST_LISTED + 1), 0)
  const items: unknown[] = []
  let whole: unknown
  for (let from = 0; from < list.length; from += PART_ITEMS) {
    whole = read(list.slice(from, from + PART_ITEMS), from)
    if (isRecord(whole) && Array.isArray(whole[name])) items.push(...whole[name])
    await nextTurn()
  }
  return { ...Object(whole), [name]: items }
}
