/** A ledger that counts tokens with a caller-supplied estimator. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import {
  defaultEstimator,
  openLedger,
  registerEstimator,
  type Ledger,
  type LedgerOptions,
  type MessageInput,
} from '../../src/index.js'
import { answering, calling, say, SMALL, talk } from '../support/conversations.js'
import { spawnCli } from '../support/cli.js'
import { longTest } from '../support/length.js'

const wordsIn = (text: string): number => text.split(/\s+/u).filter((word) => word !== '').length
registerEstimator({ name: 'words-1', text: wordsIn })
// Four times the default count, so code that uses the wrong estimator fails soon.
registerEstimator({ name: 'characters-1', text: (text) => text.length })

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'context-ledger-estimator-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

async function withLedger<T>(options: Partial<LedgerOptions>, use: (ledger: Ledger) => Promise<T>): Promise<T> {
  const ledger = await openLedger({ store: folder, policy: SMALL, ...options })
  try {
    return await use(ledger)
  } finally {
    await ledger.close()
  }
}

/** The estimators that a conversation was configured with, in order, and the tokens of its messages. */
async function counted(ledger: Ledger, conversationId: string): Promise<{ estimators: string[]; tokens: number[] }> {
  const estimators: string[] = []
  const tokens: number[] = []
  for await (const event of ledger.log(conversationId)) {
    if (event.type === 'ConversationConfigured') estimators.push(event.data.estimator)
    if (event.type === 'MessageAppended') tokens.push(event.data.tokens)
  }
  return { estimators, tokens }
}

const ROLE = 2
const textOf = ({ content }: Pick<MessageInput, 'content'>): string => (typeof content === 'string' ? content : '')

longTest(
  'is recorded and counted by through cycles, editions and what is asked of them; verify proves it where it is registered, and says where it is not',
  async () => {
    await withLedger({ estimator: 'words-1', policy: { ...SMALL, modelMaxTokens: 500 } }, async (ledger) => {
      for (const message of talk(60)) await ledger.append('a', message)
      await ledger.append('a', [calling('c', ['x', 'y']), answering('rx', 'x'), say(90), answering('ry', 'y')])
      await ledger.admin.waitForCompaction()
      const { estimators, tokens } = await counted(ledger, 'a')
      expect(estimators).toEqual(['words-1'])
      expect(tokens.slice(0, 60)).toEqual(talk(60).map((message) => ROLE + wordsIn(textOf(message))))
      const { messages, tokens: all } = await ledger.context('a')
      expect((await ledger.admin.stats('a')).cycles).toBeGreaterThan(0)
      // The context's own number goes by it too: its view, and what is only shown.
      expect(all).toBeLessThan(
        messages.reduce((sum, { content }) => sum + ROLE + defaultEstimator.text(textOf({ content })), 0),
      )

      const { editionId } = await ledger.editions.replay({ conversations: ['a'], policy: { buffer: 2 } })
      await ledger.editions.adopt('a', editionId)
      await ledger.append('a', talk(10, 100))
      await ledger.admin.waitForCompaction()
      expect((await counted(ledger, 'a')).estimators).toEqual(['words-1'])
      expect(await ledger.admin.verify()).toMatchObject({ ok: true, problems: [] })
    })

    const cli = (...words: string[]) => spawnCli([...words, '--store', folder], { cwd: folder })
    const { status, stdout } = await cli('verify', '--json')
    const { problems } = z
      .object({ problems: z.array(z.object({ rule: z.string(), stream: z.string(), detail: z.string() })) })
      .parse(JSON.parse(stdout))
    expect([status, problems.map(({ rule, stream }) => [rule, stream.split('-')[0]])]).toEqual([
      4,
      [
        ['readable', 'conversation'],
        ['readable', 'edition'],
      ],
    ])
    for (const { detail } of problems)
      expect(detail).toContain('uses the token estimator "words-1", which is not registered here')
    const context = await cli('context', 'a')
    expect([context.status, context.stderr]).toEqual([
      4,
      expect.stringContaining('token estimator "words-1" is not registered'),
    ])
    // Facts are read as they are recorded, by whatever they count.
    for (const words of [['log', 'a'], ['stats', 'a'], ['list'], ['search', 'berth', '--conversation', 'a']])
      expect([words, (await cli(...words)).status]).toEqual([words, 0])
    expect((await cli('verify', 'a')).stdout).toContain('not registered here')
  },
)

longTest(
  'goes as the policy does: given, it holds for what is appended from now on; left out, a conversation keeps its own',
  async () => {
    await withLedger({}, async (ledger) => {
      await ledger.append('a', [...talk(30), calling('c', ['x', 'y'])])
    })
    await withLedger({ estimator: 'characters-1' }, async (ledger) => {
      await ledger.append('a', [answering('rx', 'x'), say(31)])
      await ledger.append('a', talk(8, 32))
      await ledger.append('b', say(0))
      await ledger.admin.waitForCompaction()
    })
    await withLedger({ policy: { ...SMALL, keepRecent: 3 } }, async (ledger) => {
      await ledger.append('a', [answering('ry', 'y'), ...talk(8, 40)])
      await ledger.append('c', say(0))
      await ledger.admin.waitForCompaction()
      expect((await counted(ledger, 'a')).estimators).toEqual([defaultEstimator.name, 'characters-1', 'characters-1'])
      expect(await counted(ledger, 'b')).toEqual({
        estimators: ['characters-1'],
        tokens: [ROLE + textOf(say(0)).length],
      })
      expect((await counted(ledger, 'c')).estimators).toEqual([defaultEstimator.name])
      expect(await ledger.admin.verify()).toMatchObject({ ok: true, problems: [] })
    })
    await withLedger({ estimator: 'words-1' }, async (ledger) => {
      await ledger.compact('b')
      expect((await counted(ledger, 'b')).estimators).toEqual(['characters-1', 'words-1'])
      await ledger.editions.replay({ conversations: 'all' })
      expect(await ledger.admin.verify()).toMatchObject({ ok: true, problems: [] })
    })
  },
)

it('has to be registered, and the error names those that are', async () => {
  await expect(openLedger({ store: folder, estimator: 'by-nobody' })).rejects.toMatchObject({
    kind: 'BadInput',
    details: { field: 'estimator' },
    message: expect.stringMatching(
      /"by-nobody" is not registered \((?=.*characters-by-script-2)(?=.*characters-by-script-1)(?=.*words-1)(?=.*characters-1)/u,
    ),
  })
})
