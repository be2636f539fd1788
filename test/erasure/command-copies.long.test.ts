/**
 * The law of copies: whatever command copied a text, its erasure erases the copy or names the file. Every file of the
 * ledger, of the programs and of the user's directory is searched for the erased words.
 */
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals'
import { longDescribe } from '../support/length.js'
import { createReadStream } from 'node:fs'
import { mkdir, mkdtemp, open, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sessionKey, writeNote } from '../../src/interfaces/cli/hook/hook-folder.js'
import { UploadFile } from '../../src/interfaces/cli/push/upload-file.js'
import { sessionWriters } from '../../src/application/handoff/writers/index.js'
import { openLedger } from '../../src/index.js'
import { runCli, spawnCli } from '../support/cli.js'
import { SMALL } from '../support/conversations.js'

jest.setTimeout(600_000)

const CWD = '/srv/harbour'
const WORD = (at: number): string => `Pelikan${String(at)}Quartz`
const OF_ANNA = [3, 12]
const SESSION = 'claude-code/5b0c2a54-7d1e-4b0a-9a86-5d0f2c7e9b11'

let root: string
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'copies-'))
})
afterAll(() => rm(root, { recursive: true, force: true }))

/** A user's directories on one machine. */
class Machine {
  readonly env: Record<string, string>

  private constructor(readonly folder: string) {
    this.env = { HOME: folder, XDG_STATE_HOME: join(folder, 'state'), XDG_DATA_HOME: join(folder, 'data') }
  }

  static async create(name: string): Promise<Machine> {
    const machine = new Machine(join(root, name))
    for (const { program } of sessionWriters) await mkdir(machine.in(program), { recursive: true })
    await mkdir(machine.in('gemini', 'tmp', 'harbour'), { recursive: true })
    await writeFile(machine.in('gemini', 'tmp', 'harbour', '.project_root'), CWD)
    const ledger = await openLedger({
      store: machine.in('store'),
      keys: machine.in('keys'),
      erasable: true,
      policy: { ...SMALL, maxSummaryTokens: 400 },
    })
    await ledger.append(
      'talk',
      Array.from({ length: 14 }, (_none, at) => ({
        id: `m${String(at)}`,
        role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
        content: `Always use ${WORD(at)} here! ${'and so on '.repeat(30)}`,
        ...(OF_ANNA.includes(at) ? { subjects: ['anna@example.org'] } : {}),
      })),
    )
    await ledger.compact('talk')
    await ledger.close()
    return machine
  }

  in(...names: string[]): string {
    return join(this.folder, ...names)
  }

  async run(...words: readonly string[]): Promise<string> {
    const own =
      words[0] === 'migrate-log'
        ? ['--keys', this.in('keys')]
        : ['--store', this.in('store'), '--keys', this.in('keys'), '--resident', 'off']
    const { status, stdout, stderr } = await runCli([...words, ...own], { cwd: this.folder, env: this.env })
    if (status !== 0) throw new Error(`${words.join(' ')}: ${stderr}`)
    return stdout
  }

  async exportTo(file: string, ...words: readonly string[]): Promise<void> {
    const output = await open(file, 'w')
    try {
      const own = ['--store', this.in('store'), '--keys', this.in('keys')]
      const { status } = await spawnCli(['export', ...words, ...own], {
        cwd: this.folder,
        env: this.env,
        output: output.fd,
      })
      if (status !== 0) throw new Error(`export ${words.join(' ')}`)
    } finally {
      await output.close()
    }
  }

  /** A copy by every command. */
  async copyByAll(): Promise<void> {
    let from = 'talk'
    for (const { program } of sessionWriters) {
      const words = ['handoff', from, '--to', program, '--home', this.in(program), '--cwd', CWD, '--json']
      from = String(JSON.parse(await this.run(...words)).conversationId)
    }
    const edition = String(JSON.parse(await this.run('replay', 'talk', '--yes', '--json')).editionId)
    await this.run('editions', 'adopt', edition, 'talk')
    await this.run('page', 'talk', '--html', this.in('page.html'))
    await this.run('forgotten', '--all', '--html', this.in('all.html'))
    await this.exportTo(this.in('talk.md'), 'talk', '--format', 'markdown')
    await this.exportTo(this.in('all.jsonl'), '--format', 'cloudevents', '--content')
    await this.run(
      'migrate-log',
      '--from',
      this.in('store'),
      '--to',
      this.in('moved'),
      '--to-keys',
      this.in('moved-keys'),
    )
    await this.placeWaiting()
  }

  /** A note that waits for its agent, and an upload that waits for its service, both of a session of Claude Code. */
  private async placeWaiting(): Promise<void> {
    const transcript = this.in('claude-code', 'forked.jsonl')
    const line = {
      type: 'user',
      sessionId: SESSION.slice('claude-code/'.length),
      uuid: 'u1',
      parentUuid: null,
      isSidechain: false,
      cwd: CWD,
    }
    const message = { role: 'user', content: `Again ${WORD(12)}.` }
    await writeFile(
      transcript,
      `${JSON.stringify({ ...line, version: '2.1.0', timestamp: '2026-01-01T00:00:00.000Z', message })}\n`,
    )
    await this.run('import', transcript)
    const [hooks, uploads] = [
      this.in('state', 'context-ledger', 'hooks'),
      this.in('state', 'context-ledger', 'push', 'q', 'uploads'),
    ]
    await mkdir(hooks, { recursive: true })
    await mkdir(uploads, { recursive: true })
    const key = sessionKey('claude-code', line.sessionId)
    writeNote(hooks, key, `Recalled: ${WORD(12)}`)
    const head = { program: 'claude-code', source: transcript, writtenAt: '2026-01-01T00:00:00.000Z' }
    await UploadFile.create(uploads, 1, head, itemsOf(line.sessionId, message.content))
  }

  /** Every file, with its bytes. */
  async *files(): AsyncGenerator<string> {
    for (const name of await readdir(this.folder, { recursive: true })) {
      const path = this.in(name)
      if ((await stat(path)).isFile()) yield path
    }
  }
}

// oxlint-disable-next-line typescript/require-await -- uploads take items that arrive over time
async function* itemsOf(sourceId: string, content: string): AsyncGenerator<object> {
  yield { kind: 'conversation', sourceId, where: { file: 'x' } }
  yield { kind: 'message', sourceId: 'u1', part: 0, body: { role: 'user', content }, where: { file: 'x' } }
}

/** Which of these words a file has. Numbers of the bytes that were read are added to `searched`. */
async function wordsIn(path: string, words: readonly string[], searched: { bytes: number }): Promise<string[]> {
  const found = new Set<string>()
  let rest = ''
  for await (const chunk of createReadStream(path, { encoding: 'latin1', highWaterMark: 1024 ** 2 })) {
    const text = rest + String(chunk)
    searched.bytes += String(chunk).length
    for (const word of words) if (text.includes(word)) found.add(word)
    rest = text.slice(-40)
  }
  return [...found]
}

const WAYS = [
  { name: 'subject', words: ['--subject', 'anna@example.org'], gone: OF_ANNA },
  { name: 'message', words: ['--conversation', 'talk', '--message', 'm12'], gone: [12] },
  { name: 'conversation', words: ['--conversation', 'talk'], gone: Array.from({ length: 14 }, (_none, at) => at) },
]

longDescribe('copies that commands made', () => {
  it.each(WAYS)('every copy is erased or named, by $name', async ({ name, words, gone }) => {
    const machine = await Machine.create(name)
    await machine.copyByAll()
    const erase = ['erase', ...words, '--reason', 'request 1', '--json']
    const planned: unknown = JSON.parse(await machine.run(...erase))
    const ofSession = ['erase', '--conversation', SESSION, '--reason', 'request 1', '--json']
    const ofWaiting: unknown = JSON.parse(await machine.run(...ofSession))
    await machine.run(...erase, '--yes')
    await machine.run(...ofSession, '--yes')
    const names = JSON.stringify([planned, ofWaiting])
    const searched = { bytes: 0 }
    const notNamed: string[] = []
    for await (const path of machine.files()) {
      const found = await wordsIn(path, gone.map(WORD), searched)
      const isNamed = names.includes(JSON.stringify(path)) || path.startsWith(machine.in('moved'))
      if (found.length > 0 && !isNamed) notNamed.push(`${path}: ${found.join(', ')}`)
    }
    expect(notNamed).toEqual([])
    expect(names).toContain(machine.in('moved'))
    expect(searched.bytes).toBeGreaterThan(1_000_000)
    if (process.env['CONTEXT_LEDGER_TEST_FIGURES'] !== undefined)
      process.stderr.write(`searched by ${name}: ${String(searched.bytes)} bytes\n`)
    expect(JSON.parse(await machine.run('verify', '--json'))).toMatchObject({ ok: true })
  })
})
