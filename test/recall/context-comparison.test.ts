/** The recorded messages, compared with the context that the model has. */
import { expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { createRecordTranscript } from '../../src/application/importers/record-transcript.js'
import type { TranscriptItem } from '../../src/application/importers/transcript.js'
import { compareWithContext } from '../../src/application/recall/context-comparison.js'
import { entriesOf } from '../../src/application/recall/entries.js'
import { contextOf } from '../../src/domain/compaction/context.js'
import type { MessageBody } from '../../src/domain/values/message.js'
import { openLedger } from '../../src/index.js'
import { SMALL, talk } from '../support/conversations.js'
import { createHarness, createTestClock } from '../support/harness.js'

const AT = '2026-01-01T00:00:00.000Z'
const where = (line: number) => ({ file: '/t.jsonl', line })

let line = 0
const message = (sourceId: string, body: MessageBody): TranscriptItem => ({
  kind: 'message',
  sourceId,
  part: 0,
  at: AT,
  body,
  where: where((line += 1)),
})
const user = (sourceId: string, content: string): TranscriptItem =>
  message(sourceId, { role: 'user', content, name: undefined, toolCallId: undefined, toolCalls: undefined })
const begun: TranscriptItem = { kind: 'conversation', sourceId: 's', startedAt: AT, where: where(1) }
const compaction = (sourceIds: readonly string[]): TranscriptItem => ({
  kind: 'compaction',
  sourceId: 'c',
  at: AT,
  trigger: 'auto',
  summary: { kind: 'text', text: 'They worked.' },
  context: [
    {
      kind: 'inserted',
      isSummary: true,
      body: { role: 'user', content: 'They worked.', name: undefined, toolCallId: undefined, toolCalls: undefined },
    },
    ...sourceIds.map((sourceId) => ({ kind: 'message' as const, sourceId })),
  ],
  where: where((line += 1)),
})
const edit = (sourceId: string, content: string | null): TranscriptItem => ({
  kind: 'edit',
  sourceId,
  part: 0,
  content,
  why: 'pruned',
  at: AT,
  where: where((line += 1)),
})
const withdrawal = (...sourceIds: readonly string[]): TranscriptItem => ({
  kind: 'withdrawal',
  sourceIds,
  at: AT,
  where: where((line += 1)),
})

async function recorded(...items: readonly TranscriptItem[]) {
  const { log, conversations } = createHarness()
  const record = createRecordTranscript({
    log,
    conversations,
    clock: createTestClock(),
    summarizerWindowTokens: 128_000,
  })
  // oxlint-disable-next-line typescript/require-await -- a recorder takes items that arrive over time
  async function* inOrder() {
    yield* [begun, ...items]
  }
  const result = await record(inOrder(), {
    program: 'pi',
    provenance: { actor: 'test', correlationId: 'r', causationId: 'r' },
  })
  if (E.isLeft(result)) throw new Error(result.left.kind)
  return await compareWithContext(log, result.right.conversations[0]?.conversationId ?? '')
}

const RULE = 'Always deploy with pelican-7!'

it.each([
  ['emptied before a compaction', [edit('a', null), compaction(['a'])]],
  ['emptied after a compaction that keeps it', [compaction(['a']), edit('a', null)]],
  ['shortened after a compaction that keeps it', [compaction(['a']), edit('a', '[cleared]')]],
  ['shortened, with another message after it', [compaction(['a']), user('b', 'Go on.'), edit('a', '[cleared]')]],
  ['shortened without a compaction', [edit('a', '[cleared]')]],
] as const)('a message that the program %s has lost its text', async (_name, items) => {
  const compared = await recorded(user('a', RULE), ...items)
  expect(compared.remaining.find(({ messageId }) => messageId === 'a')?.text).not.toContain('pelican')
  expect(JSON.stringify(E.getOrElse<unknown, unknown>(() => RULE)(contextOf(compared.state)))).not.toContain('pelican')
  expect(entriesOf(compared, []).map(({ text }) => text)).toEqual([`“${RULE}”`])
})

it('a message that the program restored has lost nothing', async () => {
  const compared = await recorded(user('a', RULE), compaction(['a']), edit('a', '[cleared]'), edit('a', RULE))
  expect([compared.removed, entriesOf(compared, [])]).toEqual([[], []])
})

it('a withdrawn message that came back is not withdrawn any more', async () => {
  const [a, b] = [user('a', 'one'), user('b', 'two')]
  const away = await recorded(a, b, withdrawal('b'))
  expect(away.withdrawals).toMatchObject([{ messages: [{ messageId: 'b' }] }])
  const back = await recorded(a, b, withdrawal('b'), b)
  expect(back.remaining.map(({ text }) => text)).toEqual(['one', 'two'])
  expect(back.withdrawals).toEqual([])
})

it('an undone compaction is not counted', async () => {
  const ledger = await openLedger({
    store: 'memory',
    summarizer: () => Promise.resolve('They worked.'),
    policy: SMALL,
  })
  try {
    await ledger.append('talk', talk(22))
    await ledger.compact('talk')
    const { compactions } = await ledger.recall('talk')
    expect(compactions).toBeGreaterThan(0)
    await ledger.editions.undo('talk', { cycle: compactions })
    expect((await ledger.recall('talk')).compactions).toBe(compactions - 1)
  } finally {
    await ledger.close()
  }
})
