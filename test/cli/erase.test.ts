/** `erase` on the command line: rejected arguments, the plan, and the confirmation. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger } from '../../src/index.js'
import { runCli } from '../support/cli.js'
import { SMALL, talk } from '../support/conversations.js'
import { longTest } from '../support/length.js'
import { keepEngines } from '../support/kept-engines.js'

keepEngines()

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'erase-cli-'))
  const ledger = await openLedger({
    store: join(folder, 'store'),
    keys: join(folder, 'keys'),
    erasable: true,
    policy: { ...SMALL, maxSummaryTokens: 100 },
  })
  await ledger.append('talk', [
    { id: 'm1', role: 'user', content: 'My name is Ursula.', subjects: ['ursula@example.org'] },
    { id: 'm2', role: 'assistant', content: 'noted' },
  ])
  await ledger.append('long', talk(30))
  await ledger.compact('long')
  await ledger.close()
  const plain = await openLedger({ store: join(folder, 'plain') })
  await plain.append('talk', [{ role: 'user', content: 'x' }])
  await plain.close()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const command = (words: readonly string[], store = 'store') =>
  runCli([...words, '--store', join(folder, store), '--keys', join(folder, 'keys'), '--resident', 'off'], {
    cwd: folder,
  })
const run = (words: readonly string[], store?: string) => command(['erase', ...words], store)
const M1 = ['--conversation', 'talk', '--message', 'm1']
const REASON = ['--reason', 'request 12']

describe('erase rejects', () => {
  it.each([
    ['nothing named', [], 'name what to erase: --subject ID, --conversation ID'],
    ['a person and a conversation', ['--subject', 'a', '--conversation', 'talk'], '--subject erases everything'],
    ['no reason', [...M1, '--yes'], '--reason is required'],
    ['an unknown conversation', ['--conversation', 'nowhere', ...REASON], 'nowhere'],
    ['an unknown message', ['--conversation', 'talk', '--message', 'm9', ...REASON], 'm9'],
  ])('%s', async (_what, words, sentence) => {
    const { status, stderr, stdout } = await run(words)
    expect(status).toBe(2)
    expect(stderr).toContain(sentence)
    expect(stdout).toBe('')
  })

  it('a ledger that is not erasable, and names the command that makes an erasable copy', async () => {
    const { status, stderr } = await run(['--conversation', 'talk', ...REASON, '--yes'], 'plain')
    expect(status).toBe(2)
    expect(stderr).toContain(
      '`migrate-log --erasable` copies it into an erasable one, in which every text is encrypted',
    )
  })
})

it('shows the plan, erases with --yes, and has nothing left to erase about an unknown person', async () => {
  const plan = await run([...M1, ...REASON])
  expect(plan).toMatchObject({ status: 0, stderr: '' })
  expect(plan.stdout).toContain('talk: 1 message')
  expect(plan.stdout).toContain('nothing was erased: pass --yes to erase it')
  expect(JSON.parse((await run([...M1, ...REASON, '--json'])).stdout)).toEqual({
    planned: [{ conversationId: 'talk', messages: ['m1'], summaries: 0, editions: [] }],
  })
  expect((await run(['--subject', 'nobody@example.org', ...REASON])).stdout).toContain('nothing to erase')
  const erasure: unknown = JSON.parse(
    (await run(['--subject', 'ursula@example.org', ...REASON, '--yes', '--json'])).stdout,
  )
  expect(erasure).toMatchObject({
    planned: [{ messages: ['m1'] }],
    completed: [{ conversationId: 'talk', receipt: { messages: 1, filesCleaned: true } }],
  })
  expect(await run(['--resume', '--json'])).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('"completed":[]'),
  })
})

it('imports a file without the messages that name an erased person, again and when it has grown', async () => {
  const messages = [
    { role: 'user', content: 'Which berth?' },
    { role: 'user', content: 'Ask Ursula.', subjects: ['ursula@example.org'] },
    { role: 'assistant', content: 'Berth 7.' },
  ]
  const importLines = async (lines: readonly object[]): Promise<unknown> => {
    await writeFile(join(folder, 'berths.jsonl'), lines.map((line) => JSON.stringify(line)).join('\n'))
    const { stdout, status } = await command(['import', 'berths.jsonl', '--json'])
    const answer: unknown = JSON.parse(stdout)
    return { status, answer }
  }
  expect(await importLines(messages)).toMatchObject({
    status: 0,
    answer: { conversations: [{ recorded: 2, ofErased: 1 }] },
  })
  expect(await importLines([...messages, { role: 'user', content: 'Thank you.' }])).toMatchObject({
    status: 0,
    answer: { conversations: [{ recorded: 1, alreadyThere: 2, ofErased: 1 }] },
  })
  expect((await command(['search', 'Ursula'])).stdout).not.toContain('Ask')
  await rm(join(folder, 'berths.jsonl'))
})

it('leaves no words of a command in the directory', async () => {
  await command(['list', '--grep', 'Ursula'])
  await command(['search', 'Ursula'])
  for (const name of await readdir(join(folder, 'store', 'lock')))
    expect(await readFile(join(folder, 'store', 'lock', name), 'utf8').catch(() => '')).not.toContain('Ursula')
})

longTest('names the reports that were written from these conversations, and does not delete them', async () => {
  const files = ['page.html', 'forgotten.html', 'all.html', 'other.html'].map((name) => join(folder, name))
  const [page = '', forgotten = '', all = '', other = ''] = files
  for (const words of [
    ['page', 'long', '--html', page],
    ['forgotten', 'long', '--html', forgotten],
    ['forgotten', '--all', '--html', all],
    ['page', 'talk', '--html', other],
  ])
    expect(await command(words)).toMatchObject({ status: 0 })
  await rm(forgotten)
  const plan = await run(['--conversation', 'long', ...REASON])
  expect(plan.stdout).toContain(`not erased: 2 copies of these conversations, which you can delete: ${page}, ${all}`)
  expect(JSON.parse((await run(['--conversation', 'long', ...REASON, '--json'])).stdout)).toMatchObject({
    copies: [page, all],
  })
  for (const file of [page, all, other]) expect((await stat(file)).size).toBeGreaterThan(0)
})

longTest('names the commands for a new summary of what remains, and they work', async () => {
  const replayWords = ['replay', 'long', '--yes', '--json']
  const editionOf = ({ stdout }: { readonly stdout: string }): string => String(JSON.parse(stdout).editionId)
  const former = editionOf(await command(replayWords))
  const erased = await run(['--conversation', 'long', '--message', 'm1', ...REASON, '--yes'])
  const [replay = '', adopt = ''] = [...erased.stdout.matchAll(/`context-ledger ([^`]+)`/gu)].map(([, words]) => words)
  const summary = async () => (await command(['context', 'long'])).stdout
  expect(await summary()).not.toContain('Message 0')
  const replayed = await command([...replay.split(' '), '--json'])
  // The former edition has lost its summaries, so the same inputs make another one.
  const editionId = editionOf(replayed)
  expect(editionId).not.toBe(former)
  expect(editionOf(await command(replayWords))).toBe(editionId)
  expect(await command(adopt.replace('EDITION', editionId).split(' '))).toMatchObject({ status: 0 })
  expect(await summary()).toContain('Message 0')
  expect(await command(['verify'])).toMatchObject({ status: 0 })
})

longTest('makes a new summary of what remains, and adopts it', async () => {
  const erased = await run(['--conversation', 'long', '--message', 'm3', ...REASON, '--yes', '--resummarize', '--json'])
  const { resummarized } = JSON.parse(erased.stdout)
  expect(resummarized).toMatchObject([{ conversationId: 'long' }])
  const { stdout } = await command(['context', 'long'])
  expect(stdout).toContain('Message 0')
  expect(stdout).not.toContain('Message 3:')
  expect(await command(['verify'])).toMatchObject({ status: 0 })
  const editions = JSON.parse((await command(['editions', 'list', '--json'])).stdout).editions
  expect(JSON.stringify(editions)).toContain(resummarized[0].editionId)
  expect(await run(['--conversation', 'long', '--message', 'm5', '--resummarize', ...REASON])).toMatchObject({
    status: 2,
  })
})
