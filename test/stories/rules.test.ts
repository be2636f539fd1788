/** The commands of `docs/guides/rules.md`: a rule, its loss in a compaction, the call that broke it, and near misses. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger, type CheckedRule, type Ledger } from '../../src/index.js'
import { runCli, type CliResult } from '../support/cli.js'
import { keepEngines } from '../support/kept-engines.js'
import { startTestService } from '../support/service.js'

keepEngines()

const EXAMPLE = join(process.cwd(), 'examples', 'claude-code-rules.jsonl')
const ID = 'claude-code/b7d1c9e2-4f3a-4c58-9b0e-2a6d8f1e7c40'

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rules-'))
  await runCli(['import', EXAMPLE], { cwd: folder })
})

afterAll(() => rm(folder, { recursive: true }))

const run = (...words: readonly string[]): Promise<CliResult> =>
  runCli(['rules', ...words, '--resident', 'off'], { cwd: folder })

/** The lines of the examples in the guide, without times, which depend on the time zone. */
async function examples(): Promise<readonly string[][]> {
  const page = await readFile(join('docs', 'guides', 'rules.md'), 'utf8')
  return [...page.matchAll(/```text\n([\s\S]*?)```/gu)].map(([, text = '']) => text.trimEnd().split('\n'))
}

describe('the commands of the guide', () => {
  it('print what it shows', async () => {
    const [listed = [], checked = []] = await examples()
    const { stdout } = await run('list', 'b7d1')
    const words = (row: string): string => row.replace(/\S+ \d{4}-\d\d-\d\d \d\d:\d\d/u, '').replaceAll(/ +/gu, ' ')
    expect(stdout.trimEnd().split('\n').map(words)).toEqual(listed.map(words))
    const check = await run('check', 'b7d1')
    expect([check.status, check.stdout.trimEnd().split('\n')]).toEqual([4, checked])
  })

  it('count reading and committing as no break, and the calls of a time alone', async () => {
    const { rules } = JSON.parse((await run('check', ID, '--json')).stdout).checks[0]
    expect(
      rules.map(({ id, verdict, calls, breaks }: { id: string; verdict: string; calls: number; breaks: object[] }) => [
        id,
        verdict,
        calls,
        breaks.length,
      ]),
    ).toEqual([
      ['r2.3', 'broken', 8, 1],
      ['r2.4', 'kept', 8, 0],
    ])
    expect(rules[0].breaks[0]).toMatchObject({
      id: 'r2.3-r23-1',
      revision: '23',
      words: 'git push origin main',
      context: { presence: 'gone', sinceCycle: 1 },
      noticed: { by: 'user', revision: '26' },
    })
    const later = await run('check', ID, '--since', '2026-03-13')
    expect([later.status, later.stdout]).toEqual([0, expect.stringContaining('none broken')])
  })

  it('print findings for a security team', async () => {
    const { status, stdout } = await run('check', '--all', '--ocsf')
    expect([status, JSON.parse(stdout)]).toEqual([
      4,
      expect.objectContaining({
        class_uid: 2004,
        type_uid: 200_401,
        finding_info: expect.objectContaining({ uid: `${ID}#r2.3-r23-1`, desc: 'Never push to the main branch.' }),
      }),
    ])
  })

  it('check the rules of a file, and name one that cannot be read', async () => {
    await writeFile(join(folder, 'AGENTS.md'), '# Rules\n\n- Never run `git commit`.\n')
    await writeFile(join(folder, 'large.md'), 'x'.repeat(1_000_001))
    await symlink('loop.md', join(folder, 'loop.md'))
    const { stdout } = await run('check', ID, '--rules', 'AGENTS.md', '--json')
    const [first] = JSON.parse(stdout).checks[0].rules
    expect(first).toMatchObject({ id: 'AGENTS.md:3', source: 'file', verdict: 'broken' })
    // No message states it, but the program may have loaded the file.
    expect(first.breaks[0].context).toEqual({ presence: 'unclear' })
    for (const [file, reason] of [
      ['AGENT.md', 'does not exist (did you mean AGENTS.md?)'],
      ['.', 'is a directory'],
      ['large.md', 'more than 1 MB'],
      ['loop.md', 'symbolic link'],
    ] as const) {
      const { status, stderr } = await run('list', ID, '--rules', file)
      expect([status, stderr]).toEqual([2, expect.stringContaining(reason)])
      expect(stderr).toContain(file === '.' ? folder : file)
    }
  })

  it('record what a person says about a rule, and check no rule that was dropped', async () => {
    expect((await run('confirm', 'b7d1', 'r2.4')).stdout).toBe(
      'rule r2.4 is confirmed in every session in the folder of this conversation\n',
    )
    expect((await run('drop', 'b7d1', 'r2.3')).status).toBe(0)
    const check = await run('check', ID)
    expect([check.status, check.stdout]).toEqual([0, expect.not.stringContaining('r2.3')])
    expect((await run('list', ID)).stdout).toMatch(/r2\.3 .*dropped/u)
    expect((await run('confirm', ID, 'r2.3')).status).toBe(0)
    expect((await run('check', ID)).status).toBe(4)
  })

  it('add a rule once', async () => {
    const added = JSON.parse((await run('add', ID, 'Never run `npm publish`.', '--json')).stdout)
    expect(added).toEqual({
      conversationId: ID,
      revision: added.revision,
      rule: `r${String(added.revision)}`,
      scope: 'project',
    })
    const again = JSON.parse((await run('add', ID, 'Never run `npm publish`.', '--json')).stdout)
    expect(again).toEqual(added)
  })

  it.each([
    ['an unknown rule', ['confirm', ID, 'r2.9'], 'there is no rule "r2.9"'],
    ['a rule of a file', ['drop', ID, 'AGENTS.md:3'], 'A rule of a file is changed in the file'],
    ['an empty rule', ['add', ID, ' '], 'text is empty'],
    ['a long rule', ['add', ID, 'x'.repeat(2_001)], 'text has 2001 characters'],
    ['an unknown conversation', ['list', 'b7d2'], 'there is no conversation "b7d2"'],
    ['no conversation', ['check'], 'name a conversation'],
    ['a conversation and all', ['check', ID, '--all'], 'name a conversation'],
    ['two formats', ['check', ID, '--json', '--ocsf'], 'omit --json'],
  ])('reject %s', async (_what, words, sentence) => {
    const { status, stderr, stdout } = await run(...words)
    expect([status, stdout, stderr]).toEqual([2, '', expect.stringContaining(sentence)])
  })
})

const call = (id: string, command: string) => ({
  id,
  role: 'assistant' as const,
  content: null,
  tool_calls: [
    { id: `call-${id}`, type: 'function' as const, function: { name: 'bash', arguments: JSON.stringify({ command }) } },
  ],
})

it('refuses rule files that are too large or have one name', async () => {
  await using ledger = await openLedger({ store: 'memory' })
  await ledger.append('c', { role: 'user', content: 'Hello' })
  const file = { name: 'R.md', text: 'Never push to main.' }
  await expect(ledger.rules.check('c', { files: [file, file] })).rejects.toThrow('has two files with the name R.md')
  const large = { name: 'large.md', text: 'x'.repeat(1_000_001) }
  await expect(ledger.rules.check('c', { files: [large] })).rejects.toThrow('has large.md, which is larger than 1 MB')
})

describe('a rule that was added', () => {
  it('applies from then on, and is unknown to the model if no message states it', async () => {
    await using ledger = await openLedger({ store: 'memory' })
    await ledger.append('c', [{ role: 'user', content: 'Hello' }, call('before', 'npm publish')])
    const { rule } = await ledger.rules.add('c', 'Never run `npm publish`.', { actor: 'ada' })
    await ledger.append('c', call('after', 'npm publish'))
    const checks = await checksOf(ledger)
    expect(checks).toMatchObject([{ id: rule, source: 'added', standing: 'confirmed', verdict: 'broken' }])
    expect(checks[0]?.breaks).toMatchObject([{ messageId: 'after', context: { presence: 'unclear' } }])
    const actors: string[] = []
    for await (const event of ledger.log('c')) if (event.type === 'RuleAdded') actors.push(event.metadata.actor)
    expect(actors).toEqual(['ada'])
  })

  it('is gone after the erasure of the conversation', async () => {
    const store = await mkdtemp(join(tmpdir(), 'rules-erased-'))
    const place = { store: join(store, 'ledger'), keys: join(store, 'keys') }
    const ledger = await openLedger({ ...place, erasable: true })
    await ledger.append('c', { id: 'm1', role: 'user', content: 'Hello' })
    const { rule } = await ledger.rules.add('c', 'Never call Ursula.')
    await ledger.rules.drop('c', rule)
    await ledger.admin.erasure.run({ conversationId: 'c' }, { reason: 'request 12' })
    const events: string[] = []
    for await (const event of ledger.log('c')) events.push(JSON.stringify(event.data))
    expect(events.join('\n')).not.toContain('Ursula')
    expect((await ledger.rules.list('c')).rules).toEqual([])
    await ledger.close()
    await rm(store, { recursive: true })
  })
})

async function checksOf(ledger: Ledger): Promise<readonly CheckedRule[]> {
  const rules: CheckedRule[] = []
  await ledger.rules.check('c', {
    onConversation(check) {
      rules.push(...check.rules)
    },
  })
  return rules
}

describe('over HTTP', () => {
  it('rules are added, judged, listed and checked', async () => {
    const at = await startTestService()
    const path = '/v1/conversations/c/rules'
    await at.append('c', [
      { role: 'user', content: 'Never push to the main branch.' },
      call('push', 'git push origin main'),
    ])
    const added = await at.ask(path, { body: { text: 'Never run `npm publish`.' } })
    expect([added.status, added.body.rule]).toEqual([200, `r${String(added.body.revision)}`])
    const judged = await at.ask(`${path}/${String(added.body.rule)}`, { method: 'PUT', body: { judgement: 'dropped' } })
    expect(judged.status).toBe(200)
    const { body: listed } = await at.ask(`${path}/list`, {
      body: { files: [{ name: 'a.md', text: 'Never run `rm`.' }] },
    })
    expect(listed.rules.map(({ source, standing }: Record<string, string>) => [source, standing])).toEqual([
      ['file', 'found'],
      ['statement', 'found'],
      ['added', 'dropped'],
    ])
    const { body: checked } = await at.ask(`${path}/check`, { body: {} })
    expect([checked.breaks, checked.checks[0].rules.length]).toEqual([1, 1])
    const job = await at.ask('/v1/rules/check', { body: {}, headers: { prefer: 'wait=10' } })
    expect(job.body).toMatchObject({ kind: 'checkRulesAll', result: { breaks: 1 } })
    expect((await at.ask(`${path}/r9`, { method: 'PUT', body: { judgement: 'dropped' } })).body.kind).toBe('NoSuchRule')
    await at.close()
  })
})
