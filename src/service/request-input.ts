/** Validates what a request gives for its route: conditions, query and body. */
import { unknownName } from '../domain/text/known-names.js'
import { issueSentence } from '../domain/values/issue-sentence.js'
import { routes } from '../schema/index.js'
import type { Route } from '../schema/route.js'
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

/** A value by its schema; throws with the field that is wrong. */
export function parsed(schema: Route['query'] | NonNullable<Route['body']>, value: unknown, what: string): unknown {
  const read = schema.safeParse(value)
  if (read.success) return read.data
  const [issue] = read.error.issues
  const field = issue?.path.join('.') ?? ''
  throw new Refused(
    'BadRequest',
    `${field === '' ? what : field} ${issueSentence(issue)}`,
    field === '' ? {} : { field },
  )
}
