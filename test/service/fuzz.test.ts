/**
 * Requests made of the service's own schemas, and the same with their bytes changed: no answer of it is a mistake of ours,
 * shows a stack, or is otherwise than the description says. CONTEXT_LEDGER_TEST_FUZZ says how many are sent; by hand
 * it may be 100,000.
 */
import { expect, it } from '@jest/globals'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { z } from 'zod'
import { routes } from '../../src/schema/index.js'
import type { Route } from '../../src/schema/route.js'
import { SMALL, talk } from '../support/conversations.js'
import { startTestService, wrongAnswer } from '../support/service.js'

const WANTED = Number(process.env['CONTEXT_LEDGER_TEST_FUZZ'] ?? 250)

interface Shape {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Shape>>
  readonly items?: Shape
  readonly anyOf?: readonly Shape[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
}

const ODD: readonly string[] = [
  '',
  ' ',
  'a',
  'm1',
  'm2',
  '0',
  '1',
  '12',
  '-1',
  '1.5',
  'NaN',
  'known',
  'all',
  'batch-',
  '\0',
  '\ud800',
  '__proto__',
  '%',
  '🛶',
  '2026-03-01T12:30:00Z',
  'message:m1',
  '../..',
  'x'.repeat(3_000),
  "'; drop table events; --",
  'user',
  'assistant',
  'tool',
]
const text = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...ODD) }, fc.string({ unit: 'binary', maxLength: 20 }))

/** Values of a schema, and now and then of none. */
function valuesOf(shape: Shape, depth = 0): fc.Arbitrary<unknown> {
  const right = ((): fc.Arbitrary<unknown> => {
    if (shape.const !== undefined) return fc.constant(shape.const)
    if (shape.enum !== undefined) return fc.constantFrom(...shape.enum)
    if (shape.anyOf !== undefined) return fc.oneof(...shape.anyOf.map((one) => valuesOf(one, depth + 1)))
    if (shape.type === 'string') return text
    if (shape.type === 'integer') return fc.oneof(fc.integer({ min: -2, max: 40 }), fc.maxSafeInteger())
    if (shape.type === 'number') return fc.double()
    if (shape.type === 'boolean') return fc.boolean()
    if (shape.type === 'array')
      return depth > 5 ? fc.constant([]) : fc.array(valuesOf(shape.items ?? {}, depth + 1), { maxLength: 4 })
    if (shape.properties !== undefined)
      return fc.record(
        Object.fromEntries(Object.entries(shape.properties).map(([name, inner]) => [name, valuesOf(inner, depth + 1)])),
        { requiredKeys: [] },
      )
    return fc.jsonValue({ maxDepth: 3 })
  })()
  return fc.oneof({ weight: 12, arbitrary: right }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) })
}

// JSON Schema has more than what is asked of it here.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const shapeOf = (schema: z.ZodType): Shape => z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Shape

interface Sent {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

const inAddress = (value: unknown): string => {
  const part = typeof value === 'string' ? value : JSON.stringify(value)
  try {
    return encodeURIComponent(part)
  } catch {
    return '%ED%A0%80'
  }
}
// Only characters that a client may put into a header.
const header = text.map((value) => value.replaceAll(/[^\u0020-\u007e]/gu, '?').trim())

function requestsOf(route: Route): fc.Arbitrary<Sent> {
  const params = fc.record(
    Object.fromEntries(
      Object.keys(route.params.shape).map((name) => [
        name,
        fc.oneof(
          { weight: 3, arbitrary: fc.constantFrom('known', 'm1') },
          text.filter((value) => value !== ''),
        ),
      ]),
    ),
  )
  const query = fc.record(
    Object.fromEntries(
      Object.keys(route.query.shape).map((name) => [name, fc.oneof(text, fc.constantFrom('1', '2', 'id', 'known'))]),
    ),
    { requiredKeys: [] },
  )
  const headers = fc.record(
    Object.fromEntries(
      Object.keys(route.headers).map((name) => [name, fc.oneof(header, fc.constantFrom('"1"', '*', 'wait=0'))]),
    ),
    { requiredKeys: [] },
  )
  const body =
    route.body === undefined
      ? fc.constant(undefined)
      : valuesOf(shapeOf(route.body)).map((value) => JSON.stringify(value) ?? 'null')
  return fc.record({ params, query, headers, body }).map((given) => {
    const address = route.path.replaceAll(/\{(\w+)\}/gu, (_all, name: string) => inAddress(given.params[name]))
    const search = Object.entries(given.query).map(([name, value]) => `${name}=${inAddress(value)}`)
    return {
      method: route.method.toUpperCase(),
      path: `${address}${search.length === 0 ? '' : `?${search.join('&')}`}`,
      headers: Object.fromEntries(
        Object.entries(given.headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
      ),
      body: given.body,
    }
  })
}

/** The same with some of its bytes changed, doubled or left out. */
const broken = (
  sent: fc.Arbitrary<Sent>,
): fc.Arbitrary<Omit<Sent, 'body'> & { readonly body: Uint8Array<ArrayBuffer> | undefined }> =>
  fc
    .tuple(
      sent,
      fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 }), fc.constantFrom('set', 'cut', 'double')), { maxLength: 4 }),
    )
    .map(([one, changes]) => {
      if (one.body === undefined) return { ...one, body: undefined }
      let bytes = Buffer.from(one.body)
      for (const [where, byte, how] of changes) {
        const at = where % Math.max(1, bytes.length)
        if (how === 'set') bytes[at] = byte
        else if (how === 'cut') bytes = bytes.subarray(0, at)
        else bytes = Buffer.concat([bytes, bytes.subarray(at)])
      }
      return { ...one, body: Uint8Array.from(bytes) }
    })

// A stream has no end, and a rebuild of all rows is asked for elsewhere.
const LEFT_OUT: ReadonlySet<string> = new Set(['streamEvents', 'streamConversationEvents'])

/** One service gets this number of requests. Its recorded events would make each further request slower. */
const OF_ONE = 5_000
/** Heap growth above this is more than answers leave until they are collected. */
const SPREAD_MB = 40

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

const statuses = new Map<number, number>()
const usable = Object.values<Route>(routes).filter(({ id }) => !LEFT_OUT.has(id))

/** Asks a service of its own. Gives the megabytes of its heap where it has answered a tenth of them, and all. */
async function askOne(wanted: number, seed: number): Promise<readonly [early: number, late: number]> {
  const at = await startTestService({ limits: { requestsPerMinute: 1_000_000_000, jobs: 1_000 } })
  const heap = (): number => {
    collectGarbage()
    return process.memoryUsage().heapUsed / 2 ** 20
  }
  let answered = 0
  let early = 0
  try {
    await at.ask('/v1/conversations/known/messages', { body: { messages: talk(12), policy: SMALL } })
    await fc.assert(
      fc.asyncProperty(broken(fc.oneof(...usable.map(requestsOf))), async ({ method, path, headers, body }) => {
        const response = await at.service.app.request(
          `http://127.0.0.1${path}`,
          {
            method,
            headers: { host: '127.0.0.1', 'content-type': 'application/json', ...headers },
            ...(body === undefined ? {} : { body }),
          },
          {},
        )
        const answerText = await response.text()
        statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
        const isJson = (response.headers.get('content-type') ?? '').includes('json')
        const answer = {
          status: response.status,
          headers: response.headers,
          body: isJson ? (JSON.parse(answerText) as unknown) : answerText,
        }
        expect([answer.status >= 500, answer.status >= 500 ? answerText : '', at.problems.map(String)]).toEqual([
          false,
          '',
          [],
        ])
        expect(wrongAnswer(method, path, answer)).toBeUndefined()
        answered += 1
        if (answered === Math.round(wanted / 10)) early = heap()
      }),
      { seed, numRuns: wanted, interruptAfterTimeLimit: 7_200_000 },
    )
    return [early, heap()]
  } finally {
    await at.close()
  }
}

it(`${String(WANTED)} requests of its own schemas, and of changed bytes`, async () => {
  // Each service is asked otherwise.
  const seed = fc.readConfigureGlobal().seed ?? Date.now()
  const heaps: (readonly [number, number])[] = []
  for (let left = WANTED; left > 0; left -= OF_ONE)
    heaps.push(await askOne(Math.min(OF_ONE, left), seed + heaps.length))
  // It tried what is right as well as what is wrong.
  expect([200, 400, 404].every((status) => statuses.has(status))).toBe(true)
  if (WANTED >= OF_ONE)
    process.stdout.write(
      `${JSON.stringify(Object.fromEntries(statuses))}; megabytes of heap at a tenth and at the end of each service: ${heaps.map((each) => each.map(Math.round).join(' -> ')).join(', ')}\n`,
    )
  for (const [early, late] of heaps) expect(late).toBeLessThan(early + SPREAD_MB)
}, 7_200_000)
