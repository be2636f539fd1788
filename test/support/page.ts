/** The page for tests: its app over a ledger, asked as a browser that has its token asks it. */
import type { Ledger, MessageInput } from '../../src/index.js'
import { guard } from '../../src/interfaces/page/security.js'
import { createApp } from '../../src/interfaces/page/app.js'

export const TOKEN = 'token-of-the-test'
const PORT = 4_800
export const HOST = `127.0.0.1:${String(PORT)}`

interface PageAnswer {
  readonly status: number
  readonly text: string
  readonly headers: Headers
}

export interface TestPage {
  /** Asks for a path, with the headers of a browser that was let in unless others are given. */
  get(path: string, headers?: Readonly<Record<string, string>>, method?: string): Promise<PageAnswer>
}

export const COOKIE = `context-ledger-${String(PORT)}=${TOKEN}`

export function openTestPage(ledger: Ledger): TestPage {
  const app = createApp({
    ledger,
    name: 'a ledger <of tests>',
    guard: guard({ token: TOKEN, port: () => PORT, startedAt: new Date('2026-03-01T11:58:00.000Z') }),
    now: () => new Date('2026-03-01T12:00:00.000Z'),
  })
  return {
    async get(path, headers = { host: HOST, cookie: COOKIE }, method = 'GET') {
      const answer = await app.request(`http://${HOST}${path}`, { headers, method })
      return { status: answer.status, text: await answer.text(), headers: answer.headers }
    },
  }
}

/** Texts from an attacker that tries to control the page: markup, script, reversed words, a long line. */
export const HOSTILE: readonly string[] = [
  '<script>document.title="run"</script><img src=x onerror=document.title="run">',
  '</pre></div></main><h1>not ours</h1>"\'><svg/onload=alert(1)>',
  'javascript:alert(1) ${alert(1)} {{7*7}} <!--',
  'abc\u202Egnp.exe\u2066 \u0000 \u001B[31m red \ud800',
  'مرحبا بالعالم <b>bold</b> שלום',
  ']]></style><style>*{display:none}</style><meta http-equiv=refresh content="0;url=https://example.org">',
]

/** A conversation with all these texts, in every field that holds text. */
export function hostileMessages(): MessageInput[] {
  return HOSTILE.flatMap((text, at): MessageInput[] => [
    { id: `h${String(at)}<i>"'`, role: 'user', name: 'x', content: text },
    {
      id: `h${String(at)}-call`,
      role: 'assistant',
      content: `${text}\n\n${text}`,
      tool_calls: [
        { id: `c"<${String(at)}`, type: 'function', function: { name: 'run', arguments: JSON.stringify({ text }) } },
      ],
    },
    { id: `h${String(at)}-result`, role: 'tool', tool_call_id: `c"<${String(at)}`, content: text },
  ])
}
