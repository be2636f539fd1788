/** Laws of `import` about files that it refuses: one of many ends nothing, nothing is half recorded, each is named. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { recognizeTranscript } from '../../src/application/importers/index.js'
import { openLedger, type Ledger } from '../../src/index.js'
import { runCli, type CliResult } from '../support/cli.js'
import { foreignFiles } from '../support/damage/foreign-files.js'
import { readSession, writeSession } from '../support/damage/session-files.js'
import { sessions } from '../support/damage/sessions.js'
import { jsonAs } from '../support/json.js'
import { hasSqlite, writeSqlite } from '../support/sqlite-program.js'
import { longTest } from '../support/length.js'
import { keepEngines } from '../support/kept-engines.js'

keepEngines()

interface ImportReport {
  readonly conversations: readonly { readonly conversationId: string }[]
  readonly refused?: readonly { readonly file: string; readonly reason: string }[]
  readonly skipped: readonly string[]
}

let folder: string
const run = async (...words: readonly string[]): Promise<CliResult> =>
  await runCli([...words], { cwd: folder, env: { HOME: folder } })
const write = async (path: string, content: string | Buffer): Promise<string> => {
  await mkdir(dirname(join(folder, path)), { recursive: true })
  await writeFile(join(folder, path), content)
  return join(folder, path)
}
const chat = (...texts: readonly string[]): string =>
  texts.map((content) => `${JSON.stringify({ role: 'user', content })}\n`).join('')

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'refused-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true })
})

describe('files with equal names', () => {
  it('in directories are conversations of their own, and a refused one does not end the import', async () => {
    await write('many/a/messages.jsonl', chat('of a'))
    await write('many/b/messages.jsonl', chat('of b', 'more of b'))
    await write('many/c/messages.jsonl', `${chat('of c')}{"role":"nobody","content":"wrong"}\n`)
    const { status, stdout } = await run('import', 'many', '--json')
    const { conversations, refused = [], skipped } = jsonAs<ImportReport>(stdout)
    expect(conversations.map(({ conversationId }) => conversationId)).toEqual([
      'messages',
      expect.stringMatching(/^messages-[0-9a-f]{8}$/u),
    ])
    expect([...refused.map(({ file }) => file), ...skipped].map((file) => basename(dirname(file)))).toEqual(['c'])
    expect(status).toBe(0)
  })

  it('that are named are conversations of their own; the command fails for a refused one after the others', async () => {
    await write('named/a/messages.jsonl', chat('of a'))
    await write('named/wrong.jsonl', `${chat('one', 'two')}{"role":"nobody","content":"wrong"}\n`)
    await write('named/b/messages.jsonl', chat('of b'))
    const paths = ['named/a/messages.jsonl', 'named/wrong.jsonl', 'named/b/messages.jsonl']
    const { status, stdout } = await run('import', ...paths, '--json')
    const { conversations, refused = [] } = jsonAs<ImportReport>(stdout)
    expect(new Set(conversations.map(({ conversationId }) => conversationId)).size).toBe(2)
    expect(refused.map(({ file }) => basename(file))).toEqual(['wrong.jsonl'])
    expect(refused[0]?.reason).toContain('wrong.jsonl:3: role')
    expect(status).toBe(2)
    expect((await run('list', '--json')).stdout).not.toContain('wrong')
  })

  it.each([...new Set(sessions.filter(({ isDatabase }) => isDatabase !== true).map(({ program }) => program))])(
    'in directories of their own are different conversations, if the program names them in the file: %s',
    async (program) => {
      const session = sessions.find((each) => each.program === program && each.isDatabase !== true)
      if (session === undefined) throw new Error(program)
      const root = join(folder, 'twins', program)
      const idsIn = async (path: string): Promise<readonly string[]> =>
        (await readSession(path)).items.flatMap((item) => (item.kind === 'conversation' ? [item.sourceId] : []))
      const ids = await idsIn(await writeSession(session, join(root, 'one')))
      // Aider names no session, so that the directory distinguishes its files.
      const names = program === 'aider' ? [] : [...new Set(ids.map((id) => id.split('/')[0] ?? id))]
      const rename = (text: string): string =>
        names
          .reduce((changed, id) => changed.replaceAll(id, `${id.slice(0, -1)}z`), text)
          .replaceAll(/hold\?|northern/gu, 'elsewhere')
      const files = Object.fromEntries(
        Object.entries(session.files).map(([path, content]) => [
          rename(path).replace(/^aider\//u, 'another/'),
          rename(content),
        ]),
      )
      const secondIds = await idsIn(await writeSession({ ...session, files }, join(root, 'two')))
      expect(secondIds.length).toBeGreaterThan(0)
      expect(secondIds.filter((id) => ids.includes(id))).toEqual([])
    },
  )
})

describe('a transcript that contradicts the ledger', () => {
  let ledger: Ledger
  beforeAll(async () => {
    ledger = await openLedger({ store: 'memory' })
  })
  afterAll(async () => {
    await ledger.close()
  })

  const lineSessions = sessions.filter(({ files }) => {
    const [[name, content] = ['', ''], ...others] = Object.entries(files)
    return others.length === 0 && name.endsWith('.jsonl') && content.split('\n').length > 3
  })
  it.each(
    lineSessions.map((session) => [`${session.program} ${Object.keys(session.files)[0] ?? ''}`, session] as const),
  )('records nothing: %s', async (_name, session) => {
    const [[path, content] = ['', '']] = Object.entries(session.files)
    const lines = content.trimEnd().split('\n')
    const last = lines.findLastIndex((record) => /[a-z]{3,}\."/u.test(record))
    // First without a record in the middle, and with another text at the end.
    const before = lines
      .map((record, at) => (at === last ? record.replace(/([a-z]{3,})\."/u, 'otherwise $1."') : record))
      .filter((_record, at) => at !== Math.min(2, last - 1))
    const root = join(folder, 'contradicting', session.program, basename(path, '.jsonl'))
    const file = await writeSession({ ...session, files: { [path]: `${before.join('\n')}\n` } }, root)
    const { conversations } = await ledger.transcripts.import(file)
    const revisions = async (): Promise<readonly number[]> => {
      const found: number[] = []
      for (const { conversationId, revision } of conversations) {
        if (revision < 0) continue
        let events = 0
        for await (const _event of ledger.log(conversationId)) events += 1
        found.push(events)
      }
      return found
    }
    const recorded = await revisions()
    await writeSession(session, root)
    const outcome = await ledger.transcripts.import(file).catch((error: unknown) => error)
    const reason = outcome instanceof Error ? outcome.message : 'nothing of this transcript was imported'
    const hasChanged = (await revisions()).join() !== recorded.join()
    expect(reason).toContain('nothing of this transcript was imported')
    expect(hasChanged).toBe(!(outcome instanceof Error))
  })
})

describe('a file that is not for us', () => {
  it.each(foreignFiles)('is named for what it is, with status 2: %s', async (name, content, sentence) => {
    const { status, stderr } = await run('import', '--dry-run', await write(`foreign/${name}`, content))
    expect(stderr).toMatch(sentence)
    expect(status).toBe(2)
  })

  it('has one line for its kind in a directory', async () => {
    for (const name of ['a.json', 'b.json', 'c.json']) await write(`kinds/${name}`, '')
    await write('kinds/table.md', 'a;b\n1;2\n3;4\n')
    const { status, stderr } = await run('import', '--dry-run', 'kinds')
    expect(stderr).toMatch(/skipped 4 files/u)
    expect(status).toBe(2)
    await write('kinds/chat.jsonl', chat('hello'))
    const mixed = await run('import', '--dry-run', 'kinds')
    expect(mixed.status).toBe(0)
    expect(mixed.stderr).toMatch(/a\.json and 2 more: an empty file$/mu)
    expect(mixed.stderr).toMatch(/table\.md: a table of separated values$/mu)
  })

  it('is no transcript because it quotes one, whatever the program', async () => {
    for (const { program, files } of sessions)
      for (const [path, content] of Object.entries(files)) {
        if (!path.endsWith('.jsonl')) continue
        const quoted = content.split('\n').slice(0, 2).join('\n')
        const text = `# Notes\n\nA session of ${program} begins like this,\nas everybody knows:\n\n\`\`\`json\n${quoted}\n\`\`\`\n\nThe end.\n`
        expect([program, await recognizeTranscript(await write('quoting/README.md', text))]).toEqual([
          program,
          undefined,
        ])
      }
  })
})

const hasNoReader = process.getBuiltinModule('node:sqlite') === undefined && hasSqlite
const describeWithoutReader: typeof describe.skip = hasNoReader ? describe : describe.skip

describeWithoutReader('a database on a Node that cannot read it', () => {
  longTest('is refused with status 2, and with the version that can', async () => {
    const database = sessions.find(({ program, isDatabase }) => program === 'cursor' && isDatabase === true)
    const [[path, statements] = ['', '']] = Object.entries(database?.files ?? {})
    await mkdir(dirname(join(folder, path)), { recursive: true })
    writeSqlite(join(folder, path), statements)
    const { status, stderr } = await run('import', path)
    expect(stderr).toMatch(/needs a Node that reads SQLite \(22\.13 or later\)/u)
    expect(status).toBe(2)
  })
})
