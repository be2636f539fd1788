/** `import --follow`: transcripts that grow, appear, or are cut off, truncated or replaced. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { appendFile, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { followTranscripts } from '../../src/interfaces/cli/import/follow.js'
import type { Ledger } from '../../src/index.js'
import { claudeCodeLines } from '../support/claude-code-transcript.js'
import { runCli } from '../support/cli.js'
import { sessionOf } from '../support/growing-transcripts.js'
import { ledgerOn } from '../support/ledger-on-database.js'
import { openTestDatabase } from '../support/memory-database.js'
import { keepEngines } from '../support/kept-engines.js'

keepEngines()

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'follow-'))
})
afterEach(() => rm(folder, { recursive: true }))

async function messagesOf(ledger: Ledger, id: string): Promise<number> {
  const list = await ledger.list()
  return list.conversations.find(({ conversationId }) => conversationId === id)?.messages ?? 0
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (;;) {
    if (await holds()) return
    await new Promise((resolve) => {
      setTimeout(resolve, 20)
    })
  }
}

it('takes a folder that appears, files that grow, half a line when it is whole, and what is rotated or truncated', async () => {
  await using ledger = await ledgerOn(await openTestDatabase())
  const messages = (id: string): Promise<number> => messagesOf(ledger, id)
  const sessions = join(folder, 'sessions')
  const over = new AbortController()
  const following = followTranscripts(ledger, [sessions], {
    from: undefined,
    scope: undefined,
    json: true,
    pollMs: 50,
    signal: over.signal,
  })
  await mkdir(sessions)
  const lines = claudeCodeLines(6, [2])
  const file = join(sessions, 'session-1.jsonl')
  await writeFile(file, `${lines.slice(0, 4).join('\n')}\n`)
  await until(async () => (await messages('claude-code/session-1')) === 4)
  // Half a line first, then the rest.
  const [next = ''] = lines.slice(4)
  await appendFile(file, next.slice(0, 40))
  await appendFile(file, `${next.slice(40)}\n`)
  await until(async () => (await messages('claude-code/session-1')) === 5)
  // Rotation: the old file gets another name, and new lines go to a new file.
  await rename(file, join(sessions, 'session-1.old.jsonl'))
  await writeFile(file, `${claudeCodeLines(2, [], 'session-2').join('\n')}\n`)
  await until(async () => (await messages('claude-code/session-2')) === 8)
  // Truncated and rewritten completely.
  await writeFile(file, '')
  await writeFile(file, `${lines.join('\n')}\n`)
  await until(async () => (await messages('claude-code/session-1')) === 24)
  // Truncated and continued by another program.
  const codex = sessionOf(1, 'session-4')
  const codexLines = Array.from({ length: 60 }, (_none, at) => `${codex.line(at).text}\n`)
  await writeFile(file, codexLines.join(''))
  await until(async () => (await messages('codex/session-4')) === 59)
  await rm(join(sessions, 'session-1.old.jsonl'))
  await writeFile(join(sessions, 'session-3.jsonl'), `${claudeCodeLines(1, [], 'session-3').join('\n')}\n`)
  await until(async () => (await messages('claude-code/session-3')) === 4)
  expect(await messages('claude-code/session-1')).toBe(24)
  expect(await messages('claude-code/session-2')).toBe(8)
  expect((await ledger.admin.verify()).problems).toEqual([])
  over.abort()
  await following
})

it.each([
  [['import', '--follow'], 'name a file or a directory to follow'],
  [['import', '--follow', '--dry-run', '.'], '--follow cannot be combined with --dry-run'],
  [['import', '--follow', '--discover'], 'requires --yes'],
  [['import', '--poll', '3', '.'], '--poll requires --follow'],
])('%j says %s', async (words, said) => {
  const { status, stderr } = await runCli(words, { cwd: folder })
  expect(status).not.toBe(0)
  expect(stderr.replaceAll(/\s+/gu, ' ')).toContain(said)
})
