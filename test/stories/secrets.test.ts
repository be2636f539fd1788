/**
 * Secrets of every kind through every door of a ledger in a folder: none is in a file of the store, a row, a copy of the
 * log, a vector, a metric, a problem or a report.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { openFolder } from '../../src/adapters/pglite/sql.js'
import { SECRET_RULES } from '../../src/application/secrets/rules.js'
import { openLedger, type Ledger } from '../../src/index.js'
import { runCli } from '../support/cli.js'
import { longTest } from '../support/length.js'
import { MAKERS, randomFrom, type Planted } from '../support/planted-secrets.js'
import { DOORS, nextSummary, throughService } from '../support/secret-doors.js'
import { startUpstream, type UpstreamStub } from '../support/upstream-stub.js'
import { keepEngines } from '../support/kept-engines.js'

keepEngines()

/** Texts around a secret: sentences in seven languages, JSON, an URL. */
const AROUND: readonly ((text: string) => string)[] = [
  (text) => `Use ${text} for the deployment.`,
  (text) => `请用${text}，谢谢`,
  (text) => `このキー${text}を使ってください`,
  (text) => `이 키를 사용하세요: ${text}.`,
  (text) => `Ключ: «${text}», не показывай`,
  (text) => `المفتاح هو ${text} من فضلك`,
  (text) => `Der Schlüssel lautet „${text}“.`,
  (text) => JSON.stringify({ note: text, list: [{ deep: JSON.stringify({ text }) }] }),
  (text) => `https://example.com/x?a=1&v=${text}&b=2`,
]

/** A secret on its way: the text that a door gets, and what nothing may contain. */
interface Sent extends Planted {
  readonly door: string
  readonly sent: string
  readonly forbidden: readonly string[]
}

/** One secret of each kind, or of every `step`th, each in another text. */
function sentThrough(door: string, seed: number, step: number): Sent[] {
  const random = randomFrom(seed)
  const makers = MAKERS.filter((_make, at) => (at + seed) % step === 0)
  return makers.map((make, at) => {
    const planted = make(random)
    const { text, secret, kind } = planted
    const inJson = JSON.stringify(secret).slice(1, -1)
    const isEncoded = at % 5 === 4 && SECRET_RULES.some((rule) => rule.kind === kind && rule.encoded === true)
    if (isEncoded) {
      const encoded = Buffer.from(`apiVersion: v1\nvalue: ${text}\n`).toString('base64')
      return { ...planted, door, sent: `data: ${encoded}`, forbidden: [secret, inJson, encoded] }
    }
    const sent = AROUND[(at + seed) % AROUND.length]?.(text) ?? text
    return { ...planted, door, sent, forbidden: [secret, inJson] }
  })
}

let folder: string
let upstream: UpstreamStub
const problems: unknown[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secrets-'))
  upstream = await startUpstream()
})
afterAll(async () => {
  await upstream.close()
  await rm(folder, { recursive: true, force: true })
})

const open = async (store: string): Promise<Ledger> =>
  await openLedger({
    store,
    // oxlint-disable-next-line typescript/require-await -- a failure is a rejection
    summarizer: async () => nextSummary(),
    ahead: false,
    policy: { modelMaxTokens: 4_000, chunkMinTokens: 0, chunkSize: 4 },
    onProblem: (problem) => problems.push(problem),
  })

/** Everything that a ledger says about its conversations. */
async function reportsOf(ledger: Ledger, store: string): Promise<string[]> {
  const { conversations } = await ledger.list()
  const ids = conversations.map(({ conversationId }) => conversationId)
  const texts = [JSON.stringify(await ledger.search('secret key use deployment', { limit: 50 }))]
  for (const id of ids) {
    texts.push(JSON.stringify([await ledger.context(id), await ledger.explain(id), await ledger.forgotten(id)]))
    texts.push(JSON.stringify(await ledger.messages(id)))
  }
  expect((await ledger.admin.secrets.scan()).secrets).toEqual([])
  expect((await ledger.admin.verify()).problems).toEqual([])
  await ledger.close()
  const commands = [['verify'], ['stats'], ['list'], ['prompts'], ['log', 'appended', '--json'], ['forgotten']]
  for (const words of commands) {
    const { stdout, stderr } = await runCli([...words, '--store', store], { cwd: folder })
    texts.push(stdout + stderr)
  }
  return texts
}

/** The readable parts of a file: most of a database's files is zeros. All planted secrets are ASCII texts. */
const readableIn = (content: Buffer): string =>
  (content.toString('latin1').match(/[\t\n\r\x20-\x7e]{6,}/gu) ?? []).join('\0')

/** The files of a folder, and the values of all tables, which a file may have compressed. */
async function textsIn(store: string): Promise<{ readonly name: string; readonly text: string }[]> {
  const texts: { readonly name: string; readonly text: string }[] = []
  for (const name of await readdir(store, { recursive: true })) {
    const content = await readFile(join(store, name)).catch(() => undefined)
    if (content !== undefined) texts.push({ name, text: readableIn(content) })
  }
  const db = await openFolder(store)
  const tables = await db.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
  )
  for (const { name } of tables) {
    const rows = await db.query<{ row: string }>(`select t::text as row from ${name} t`)
    texts.push({ name, text: rows.map(({ row }) => row).join('\n') })
  }
  await db.close()
  return texts
}

async function plantEverywhere(name: string, step: number): Promise<number> {
  const store = join(folder, name)
  const used: Sent[] = []
  const through = (door: string): string[] => {
    const some = sentThrough(door, used.length + 1, step)
    used.push(...some)
    return some.map(({ sent }) => sent)
  }
  const ledger = await open(store)
  const tools = { ledger, folder, upstream, onProblem: (problem: unknown) => problems.push(problem) }
  for (const door of DOORS) await door.run(through(door.name), tools)
  await ledger.admin.waitForCompaction()
  const reports = await reportsOf(ledger, store)
  const metrics = await throughService(through('service'), store)
  const dump = join(folder, `${name}.clog.gz`)
  const copied = await runCli(['migrate-log', '--from', store, '--to', dump], { cwd: folder })
  expect(copied.status).toBe(0)
  const texts = [
    ...(await textsIn(store)),
    { name: 'a copy of the log', text: gunzipSync(await readFile(dump)).toString('utf8') },
    { name: 'a report', text: reports.join('\n') },
    { name: 'a metric', text: metrics },
    { name: 'a problem', text: problems.map(String).join('\n') },
  ]
  // `readableIn` keeps only these characters.
  for (const text of used.flatMap(({ forbidden }) => forbidden)) expect(text).toMatch(/^[\t\n\r\x20-\x7e]{6,}$/u)
  const found = texts.flatMap((each) =>
    used.flatMap(({ door, kind, forbidden }) =>
      forbidden.some((text) => each.text.includes(text)) ? [`${kind} through ${door} in ${each.name}`] : [],
    ),
  )
  expect(found).toEqual([])
  expect(new Set(used.map(({ door }) => door)).size).toBe(DOORS.length + 1)
  return used.length
}

it('of some kinds go through no door', async () => {
  expect(await plantEverywhere('some', 11)).toBeGreaterThan(40)
})

longTest(
  'of all kinds go through no door',
  async () => {
    expect(await plantEverywhere('all', 1)).toBeGreaterThanOrEqual(500)
  },
  600_000,
)
