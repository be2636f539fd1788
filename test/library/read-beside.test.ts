/**
 * Other processes read a folder while its agent runs, through the command line and the library. One agent serves all
 * tests.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger, type Ledger } from '../../src/index.js'
import { startChild, type Child } from '../support/child.js'
import { runCli } from '../support/cli.js'
import { longTest } from '../support/length.js'
import { keepEngines } from '../support/kept-engines.js'

keepEngines()

let home: string
let store: string
let agent: Child
let ledger: Ledger
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'ledger-'))
  store = join(home, 'ledger')
  agent = startChild('agent-at-work', [store])
  await agent.said(5)
  ledger = await openLedger({ store, readOnly: true, onProblem: () => undefined })
}, 120_000)
afterAll(async () => {
  await ledger.close()
  await agent.kill()
  await rm(home, { recursive: true, force: true })
})

describe('beside a running agent', () => {
  test.each([
    ['list', /run-7/],
    ['context run-7', /message 0: the berth C09/],
    ['log run-7 --limit 5', /message 0/],
    ['search berth --conversation run-7', /C09/],
    ['stats', /run-7/],
    ['projections status', /live-messages/],
  ])(
    'the command line reads: %s',
    async (words, expected) => {
      const before = agent.lines.length
      const { status, stdout, stderr } = await runCli([...words.split(' '), '--store', store], { cwd: home })
      expect([status, stdout, stderr]).toEqual([0, expect.stringMatching(expected), expect.anything()])
      await agent.said(before + 2)
    },
    120_000,
  )

  test('a command that writes is refused, by the name of who has the folder, and told what to do', async () => {
    const { status, stdout, stderr } = await runCli(['append', 'run-7', '--text', 'mine', '--store', store], {
      cwd: home,
    })
    expect([status, stdout]).toEqual([3, ''])
    expect(stderr).toMatch(
      new RegExp(
        `is open in process ${String(agent.pid)} on .*agent-at-work.*, running since 20\\d\\d-.*one process at a time can write.*commands that only read .* work while that process runs\\. To write, use that process or stop it\\. .*migrate-log`,
      ),
    )
  }, 120_000)

  test('a proof is refused, since rows and facts go on', async () => {
    const { status, stderr } = await runCli(['verify', '--store', store], { cwd: home })
    expect([status, stderr]).toEqual([
      3,
      expect.stringMatching(
        /verify holds every row against the facts, and .* is open in process .*verify in that process, or when it has ended/,
      ),
    ])
  }, 120_000)

  test('a library reads what was recorded a moment ago, and waits for what the rows shall show', async () => {
    const number = agent.lines.length - 1
    const { messageIds } = await ledger.context('run-7')
    expect(messageIds.length).toBeGreaterThan(0)
    expect((await ledger.messages('run-7')).messages.some(({ messageId }) => messageId === `m${String(number)}`)).toBe(
      true,
    )
    const { conversations } = await ledger.list({ waitFor: number })
    expect(conversations).toMatchObject([{ conversationId: 'run-7' }])
  })

  test.each<[string, () => Promise<unknown>]>([
    ['append', () => ledger.append('run-7', { role: 'user', content: 'mine' })],
    ['compact', () => ledger.compact('run-7')],
    ['editions.undo', () => ledger.editions.undo('run-7', { cycle: 1 })],
    ['pin', () => ledger.conversation('run-7').pin('m0')],
    ['unpin', () => ledger.conversation('run-7').unpin('m0')],
    ['admin.projections.rebuild', () => ledger.admin.projections.rebuild('all')],
    ['admin.projections.catchUp', () => ledger.admin.projections.catchUp()],
    ['admin.projections.fillVectors', () => ledger.admin.projections.fillVectors()],
    ['editions.replay', () => ledger.editions.replay({ conversations: 'all' })],
    ['editions.compare', () => ledger.editions.compare('all', '5d41402abc4b')],
    ['editions.adopt', () => ledger.editions.adopt('run-7', '5d41402abc4b')],
    ['editions.revert', () => ledger.editions.revert('run-7')],
    ['editions.drop', () => ledger.editions.drop('run-7', '5d41402abc4b')],
  ])('a library that writes is refused: %s', async (call, write) => {
    await expect(write()).rejects.toMatchObject({
      fault: 'input',
      kind: 'LedgerReadOnly',
      details: { call, keptBy: expect.stringContaining(String(agent.pid)) },
      message: expect.stringContaining(
        `${call} writes, and ${store} was opened with readOnly while it is open in process`,
      ),
    })
  })

  longTest('and so are the calls that never throw', async () => {
    const history = [{ role: 'user' as const, content: 'mine' }]
    expect(await ledger.compress(history, 'run-7')).toMatchObject({ history, error: { kind: 'LedgerReadOnly' } })
    const compact = ledger.conversation('run-7').tools.list.find(({ name }) => name === 'compact_context')
    expect(await compact?.execute()).toContain('was opened with readOnly')
  })
})
