/** A service in this process, over a ledger of its own, asked as over HTTP; and what its answers have to look like. */
import { openService } from '../../src/library/compose.js'
import type { ServiceStores } from '../../src/library/processes.js'
import type { Ledger, LedgerOptions } from '../../src/library/ledger.js'
import { createService, type Service, type ServiceOptions } from '../../src/interfaces/service/app.js'
import { routes } from '../../src/schema/index.js'
import { problem } from '../../src/schema/problem.js'
import type { Route } from '../../src/schema/route.js'
import { createKey } from '../../src/interfaces/service/keys.js'
import type { Bound, Role } from '../../src/ports/service-state.js'

export const PEPPER = 'a pepper of tests, which is long enough for it'

interface Answer {
  readonly status: number
  readonly headers: Headers
  /** The body as JSON, or as text if it is not JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- what is asked of it is asked by expectations
  readonly body: any
}

interface Asking {
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly key?: string
}

export interface TestService {
  readonly ledger: Ledger
  readonly service: Service
  readonly stores: ServiceStores
  readonly problems: unknown[]
  ask(path: string, asking?: Asking): Promise<Answer>
  key(roles: readonly Role[], bound?: Bound): Promise<string>
  append(conversation: string, messages: readonly object[], asking?: Asking): Promise<Answer>
  close(): Promise<void>
}

const patterns = Object.values<Route>(routes).map((route) => ({
  route,
  pattern: new RegExp(`^${route.path.replaceAll(/\{\w+\}/gu, '[^/]+')}$`, 'u'),
}))

const beforeParameters = ({ path }: Route): number => path.replace(/\{.*$/u, '').length

/** What is wrong with an answer by the description that the service gives of itself; undefined where nothing is. */
export function wrongAnswer(method: string, path: string, { status, headers, body }: Answer): string | undefined {
  const type = headers.get('content-type') ?? ''
  if (status >= 400) {
    if (type !== 'application/problem+json') return `a ${String(status)} of type ${type}`
    const parsed = problem.safeParse(body)
    if (!parsed.success) return `no problem: ${parsed.error.message}`
    return /\n\s+at .+:\d+/u.test(JSON.stringify(body)) ? 'a stack trace' : undefined
  }
  if (status === 204 || status === 304) return undefined
  const found = patterns
    .filter(({ pattern, route }) => route.method === method.toLowerCase() && pattern.test(path.replace(/\?.*$/u, '')))
    .toSorted((a, b) => beforeParameters(b.route) - beforeParameters(a.route))[0]
  const answer = found?.route.answer
  if (answer === undefined) return undefined
  const parsed = answer.safeParse(body)
  return parsed.success ? undefined : `${found?.route.id ?? ''} answers otherwise than it says: ${parsed.error.message}`
}

export async function startTestService({
  keys = false,
  open = true,
  store = 'memory',
  ledger: ledgerOptions = {},
  ...options
}: Partial<Omit<ServiceOptions, 'ledger' | 'stores'>> & {
  readonly keys?: boolean
  readonly open?: boolean
  readonly store?: string
  readonly ledger?: Partial<LedgerOptions>
} = {}): Promise<TestService> {
  const { ledger, ...stores } = await openService({ store, ...ledgerOptions })
  const problems: unknown[] = []
  const service = createService({
    ledger,
    stores,
    pepper: PEPPER,
    ...(open && !keys ? { ownPort: () => 80 } : {}),
    onProblem: (found) => {
      problems.push(found)
    },
    ...options,
  })
  async function ask(path: string, { method, body, headers = {}, key }: Asking = {}): Promise<Answer> {
    const how = method ?? (body === undefined ? 'GET' : 'POST')
    const response = await service.app.request(
      `http://127.0.0.1${path}`,
      {
        method: how,
        headers: {
          host: '127.0.0.1',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      },
      {},
    )
    const text = await response.text()
    const isJson = (response.headers.get('content-type') ?? '').includes('json')
    const answer = {
      status: response.status,
      headers: response.headers,
      body: isJson ? (JSON.parse(text) as unknown) : text,
    }
    const wrong = wrongAnswer(how, path, answer)
    if (wrong !== undefined) throw new Error(`${how} ${path}: ${wrong}`)
    return answer
  }
  return {
    ledger,
    service,
    stores,
    problems,
    ask,
    async key(roles, bound) {
      return (await createKey(stores.keys, PEPPER, { name: roles.join('-'), roles, bound })).key
    },
    append: (conversation, messages, asking = {}) =>
      ask(`/v1/conversations/${encodeURIComponent(conversation)}/messages`, { ...asking, body: { messages } }),
    async close() {
      await service.stop()
      await ledger.close()
    },
  }
}
