/** Links to messages of an answer that a program wrote in several records: the context shows it as one message. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger, type Ledger } from '../../src/index.js'
import { openTestPage } from '../support/page.js'

const SESSION = '5b2f6c1e-0d7a-4f0e-9c33-1f2a3b4c5d6e'
/** The texts of each answer, a record each. */
const ANSWERS = [['The crane is free.'], ['Berth 7 is free.', 'Berth 9 is not.'], ['One.', 'Two.', 'Three.']]

function transcript(): string {
  const lines: object[] = []
  const add = (type: string, message: object): void => {
    const at = new Date(Date.UTC(2026, 2, 10, 9, lines.length)).toISOString()
    const parentUuid = lines.length === 0 ? null : `r${String(lines.length - 1)}`
    const rest = { isSidechain: false, userType: 'external', cwd: '/quay', version: '2.1.0' }
    lines.push({
      ...rest,
      type,
      uuid: `r${String(lines.length)}`,
      parentUuid,
      sessionId: SESSION,
      timestamp: at,
      message,
    })
  }
  for (const [at, texts] of ANSWERS.entries()) {
    add('user', { role: 'user', content: `Question ${String(at)}?` })
    for (const text of texts)
      add('assistant', { id: `msg_${String(at)}`, role: 'assistant', content: [{ type: 'text', text }] })
  }
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

let folder = ''
let ledger: Ledger
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'joined-'))
  ledger = await openLedger({ store: 'memory', ahead: false })
})
afterAll(async () => {
  await ledger.close()
  await rm(folder, { recursive: true })
})

it('lead to the message that has the text', async () => {
  const file = join(folder, `${SESSION}.jsonl`)
  await writeFile(file, transcript())
  const { conversations } = await ledger.transcripts.import(file)
  const c = conversations[0]?.conversationId ?? ''
  const page = openTestPage(ledger)
  const notFound: string[] = []
  let messages = 0
  for await (const event of ledger.log(c)) {
    if (event.type !== 'MessageAppended') continue
    messages += 1
    const { messageId, content } = event.data
    for (const at of [event.revision, (await ledger.messages(c)).revision]) {
      const query = new URLSearchParams({ c, at: String(at), m: messageId })
      const { text } = await page.get(`/conversation?${query.toString()}`)
      const [, sought = ''] = /<article class="msg [^"]*\bsought\b[^"]*"([^]*?)<\/article>/u.exec(text) ?? []
      const words = typeof content === 'string' ? content : JSON.stringify(content)
      if (!sought.includes(words)) notFound.push(`${words} at ${String(at)}`)
    }
  }
  expect([messages, notFound]).toEqual([9, []])
})
