/** The guard: asks before a call that would break a rule of the user, as `rules check` would report it, and never else. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { existsSync } from 'node:fs'
import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { openLedger, type RuleScope } from '../../../src/index.js'
import { guardFolder, writeGuarded } from '../../../src/interfaces/cli/hook/guard-folder.js'
import { guardedRule } from '../../../src/interfaces/cli/hook/guarded-rules.js'
import { lastProblem } from '../../../src/interfaces/cli/hook/hook-folder.js'
import { runGuard, type GuardWorld } from '../../../src/interfaces/cli/hook/run-guard.js'
import { runCli } from '../../support/cli.js'
import { COMPACTED_SESSIONS } from '../../support/compacted-sessions.js'

const EXAMPLE = 'examples/claude-code-rules.jsonl'
const SESSION = 'b7d1c9e2-4f3a-4c58-9b0e-2a6d8f1e7c40'
const ID = `claude-code/${SESSION}`
const PROJECT = '/srv/harbour'

let home: string
let folder: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'guard-'))
  folder = join(home, 'hooks')
  await mkdir(folder)
})
afterEach(async () => {
  await rm(home, { recursive: true, force: true, maxRetries: 5 })
})

interface Call {
  readonly tool_name: string
  readonly tool_input: unknown
  readonly tool_use_id?: string
}
const shell = (command: string): Call => ({ tool_name: 'Bash', tool_input: { command } })

/** The answer of the guard to a call; empty if it may run. */
async function answer(call: Call, world: Partial<GuardWorld> = {}, more: object = {}): Promise<string> {
  const transcript_path = join(home, 'begin.jsonl')
  await writeFile(transcript_path, said('user', 'Begin.', 1))
  const session = { session_id: 'other', transcript_path, cwd: join(PROJECT, 'src') }
  const input = { hook_event_name: 'PreToolUse', ...session, ...call, ...more }
  return await runGuard(JSON.stringify(input), {
    folder,
    agent: 'claude-code',
    action: 'ask',
    ruleFile: undefined,
    now: Date.now,
    ...world,
  })
}

const guarded = (text: string, scope: RuleScope = 'project', origin = ID): void => {
  writeGuarded(folder, { origin, project: PROJECT, rules: [guardedRule({ id: 'r1', text, scope, since: {} })] })
}

/** A record of Claude Code. */
const said = (role: 'user' | 'assistant', content: unknown, number: number): string =>
  `${JSON.stringify({
    parentUuid: number === 1 ? null : `u${String(number - 1)}`,
    isSidechain: false,
    userType: 'external',
    cwd: PROJECT,
    sessionId: 'other',
    version: '2.1.50',
    uuid: `u${String(number)}`,
    timestamp: new Date(Date.UTC(2026, 2, 12, 9, number)).toISOString(),
    type: role,
    message: { role, content, ...(role === 'assistant' ? { id: `m${String(number)}`, type: 'message' } : {}) },
  })}\n`

async function transcriptOf(...records: readonly (readonly ['user' | 'assistant', unknown])[]): Promise<string> {
  const file = join(home, 'other.jsonl')
  await writeFile(file, records.map(([role, content], at) => said(role, content, at + 1)).join(''))
  return file
}

/** The answer to a push in a session of a program. */
async function inSessionOf(agent: string): Promise<unknown> {
  const session = COMPACTED_SESSIONS[agent]?.('s1', new Date().toISOString())
  const transcript_path = join(home, session?.file ?? '')
  await mkdir(dirname(transcript_path), { recursive: true })
  await writeFile(transcript_path, session?.before ?? '')
  const more = { transcript_path, session_id: session?.sessionId ?? 's1' }
  return JSON.parse(await answer(shell('git push origin main'), { agent }, more))
}

const ran = (id: string, command: string) => [
  ['assistant', [{ type: 'tool_use', id, name: 'Bash', input: { command } }]] as const,
  ['user', [{ type: 'tool_result', tool_use_id: id, content: 'ok' }]] as const,
]

it('finds the calls of a session that `rules check` reports, and no others', async () => {
  const ledger = await openLedger({ store: 'memory' })
  const lines = (await readFile(EXAMPLE, 'utf8')).trimEnd().split('\n')
  await ledger.transcripts.import(EXAMPLE)
  const { rules } = await ledger.rules.list(ID)
  writeGuarded(folder, { origin: ID, rules: rules.map(guardedRule) })
  const broken = new Set<string>()
  await ledger.rules.check(ID, {
    onConversation: (check) => {
      for (const each of check.rules.flatMap(({ breaks }) => breaks)) broken.add(each.messageId)
    },
  })
  const found: string[] = []
  const calls: string[] = []
  for (const [at, line] of lines.entries()) {
    const { uuid, message } = JSON.parse(line)
    const uses = Array.isArray(message?.content)
      ? message.content.filter((part: Call & { type: string }) => part.type === 'tool_use')
      : []
    for (const { id, name, input } of uses) {
      const transcript = join(home, `${SESSION}.jsonl`)
      const call = { tool_use_id: id, tool_name: name, tool_input: input }
      calls.push(uuid)
      const answers = []
      // A program may write a call before or after it asks the hooks.
      for (const end of [at, at + 1]) {
        await writeFile(transcript, `${lines.slice(0, end).join('\n')}\n`)
        answers.push(await answer(call, {}, { session_id: SESSION, transcript_path: transcript }))
      }
      expect(answers[0]).toBe(answers[1])
      if (answers[0] !== '') found.push(uuid)
    }
  }
  expect(calls.length).toBeGreaterThan(5)
  expect(broken.size).toBeGreaterThan(0)
  expect(found.map((uuid) => [...broken].some((id) => id.includes(uuid)))).toEqual(found.map(() => true))
  expect(found).toHaveLength(broken.size)
  await ledger.close()
})

describe('a rule', () => {
  it('is in the answer in the words of the user, in the form of each program', async () => {
    guarded('Never push to main.', 'everywhere')
    const asked = JSON.parse(await answer(shell('git push origin main')))
    expect(asked).toEqual({
      hookSpecificOutput: {
        hookEventName: 'PreToolUse',
        permissionDecision: 'ask',
        permissionDecisionReason: 'You said: “Never push to main”. This call would break that rule. Run it?',
      },
    })
    const reason = expect.stringMatching(/^This call did not run\. The user said: “Never push to main”/u)
    expect(JSON.parse(await answer(shell('git push origin main'), { action: 'deny' }))).toEqual({
      hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'deny', permissionDecisionReason: reason },
    })
    // Codex refuses the answer "ask", and then runs the call.
    expect(await inSessionOf('codex')).toEqual({
      hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'deny', permissionDecisionReason: reason },
    })
    expect(await inSessionOf('gemini')).toEqual({ decision: 'deny', reason })
    expect(await inSessionOf('opencode')).toMatchObject({ action: 'ask', reason })
    expect(await inSessionOf('pi')).toMatchObject({ action: 'ask', reason })
  })

  it.each([
    ['everywhere', '/home/else', true],
    ['project', PROJECT, true],
    ['project', `${PROJECT}/deep/inside`, true],
    ['project', `${PROJECT}-2`, false],
    ['project', '/home/else', false],
    ['conversation', PROJECT, false],
  ] as const)('of scope %s in %s: %s', async (scope, cwd, isAsked) => {
    guarded('Never push to main.', scope)
    expect((await answer(shell('git push origin main'), {}, { cwd })) !== '').toBe(isAsked)
    expect(await answer(shell('git push origin main'), {}, { cwd, session_id: SESSION })).not.toBe('')
    expect(await answer(shell('git push origin develop'), {}, { cwd, session_id: SESSION })).toBe('')
  })

  it('does not apply to a call that the user allowed in this turn', async () => {
    guarded('Never push to main.')
    const allowed = await transcriptOf(['user', 'Go ahead, push to main this once.'])
    expect(await answer(shell('git push origin main'), {}, { transcript_path: allowed })).toBe('')
    const later = await transcriptOf(
      ['user', 'Go ahead, push to main this once.'],
      ['assistant', 'Done.'],
      ['user', 'Now the tests.'],
    )
    expect(await answer(shell('git push origin main'), {}, { transcript_path: later })).not.toBe('')
    const taken = await transcriptOf(
      ['user', 'From now on you may push to main again.'],
      ['assistant', 'OK.'],
      ['user', 'Now the tests.'],
    )
    expect(await answer(shell('git push origin main'), {}, { transcript_path: taken })).toBe('')
  })

  it('about a command before the call needs the session', async () => {
    guarded('Run `npm test` before each commit.')
    const without = await transcriptOf(['user', 'Commit it.'])
    expect(await answer(shell('git commit -m x'), {}, { transcript_path: without })).not.toBe('')
    const after = await transcriptOf(['user', 'Commit it.'], ...ran('t1', 'npm test'))
    expect(await answer(shell('git commit -m x'), {}, { transcript_path: after })).toBe('')
    // Without the session, the commands before are not known.
    expect(await answer(shell('git commit -m x'), {}, { transcript_path: home })).toBe('')
  })

  it('about a branch applies to the one that is checked out', async () => {
    guarded('Never commit to main.', 'everywhere')
    await mkdir(join(home, 'repo', '.git', 'worktrees', 'linked'), { recursive: true })
    await mkdir(join(home, 'repo', 'src'))
    await mkdir(join(home, 'linked'))
    const on = async (branch: string) => {
      await writeFile(join(home, 'repo', '.git', 'HEAD'), `ref: refs/heads/${branch}\n`)
    }
    const cwd = join(home, 'repo', 'src')
    await on('main')
    expect(await answer(shell('git commit -am x'), {}, { cwd })).not.toBe('')
    await on('feature/main-menu')
    expect(await answer(shell('git commit -am x'), {}, { cwd })).toBe('')
    await writeFile(join(home, 'linked', '.git'), `gitdir: ${join(home, 'repo', '.git', 'worktrees', 'linked')}\n`)
    await writeFile(join(home, 'repo', '.git', 'worktrees', 'linked', 'HEAD'), 'ref: refs/heads/main\n')
    expect(await answer(shell('git commit -am x'), {}, { cwd: join(home, 'linked') })).not.toBe('')
  })

  it('about a branch follows a checkout in the call, and judges no other folder', async () => {
    guarded('Never commit to main.', 'everywhere')
    await mkdir(join(home, 'repo', '.git'), { recursive: true })
    const on = async (branch: string, command: string) => {
      await writeFile(join(home, 'repo', '.git', 'HEAD'), `ref: refs/heads/${branch}\n`)
      return await answer(shell(command), {}, { cwd: join(home, 'repo') })
    }
    expect(await on('main', 'git checkout -b feature && git commit -m x')).toBe('')
    expect(await on('feature', 'git switch main && git commit -m x')).not.toBe('')
    expect(await on('main', 'cd ../other && git commit -m x')).toBe('')
    expect(await on('main', 'git -C ../other commit -m x')).toBe('')
  })

  it.each([
    ['No deploys after 18:00 UTC.', 'kubectl apply -f a.yaml', '2026-03-12T20:00:00Z', '2026-03-12T10:00:00Z'],
    [
      'Never deploy between 22:00 and 06:00 UTC.',
      'kubectl apply -f a.yaml',
      '2026-03-12T23:00:00Z',
      '2026-03-12T10:00:00Z',
    ],
  ])('about a time of day: %s', async (rule, command, broken, kept) => {
    guarded(rule, 'everywhere')
    expect(await answer(shell(command), { now: () => Date.parse(broken) })).not.toBe('')
    expect(await answer(shell(command), { now: () => Date.parse(kept) })).toBe('')
  })

  it('that was taken back and stated again applies', async () => {
    guarded('Never push to main.')
    const again = await transcriptOf(
      ['user', 'From now on you may push to main again.'],
      ['assistant', 'OK.'],
      ['user', 'Never push to main.'],
      ['assistant', 'OK.'],
      ['user', 'Now the tests.'],
    )
    expect(await answer(shell('git push origin main'), {}, { transcript_path: again })).not.toBe('')
  })

  it('that is newer than a permission applies', async () => {
    const rule = {
      id: 'r1',
      text: 'Never push to main.',
      scope: 'project',
      since: { at: '2026-04-01T00:00:00Z' },
    } as const
    writeGuarded(folder, { origin: ID, project: PROJECT, rules: [guardedRule(rule)] })
    const before = await transcriptOf(
      ['user', 'From now on you may push to main again.'],
      ['assistant', 'OK.'],
      ['user', 'Now the tests.'],
    )
    expect(await answer(shell('git push origin main'), {}, { transcript_path: before })).not.toBe('')
  })

  it('of two conversations is quoted once, and can be taken back', async () => {
    guarded('Never push to main.', 'everywhere')
    guarded('Never push to main!', 'everywhere', 'claude-code/another')
    const asked = await answer(shell('git push origin main'))
    expect(asked.match(/Never push/gu)).toHaveLength(1)
    const taken = await transcriptOf(
      ['user', 'From now on you may push to main again.'],
      ['assistant', 'OK.'],
      ['user', 'Now the tests.'],
    )
    expect(await answer(shell('git push origin main'), {}, { transcript_path: taken })).toBe('')
  })

  it('of a file is read again when the file changes', async () => {
    const ruleFile = join(home, 'rules.md')
    await writeFile(ruleFile, '- Never push to main.\n')
    expect(await answer(shell('git push origin main'), { ruleFile })).not.toBe('')
    expect(await answer(shell('git push origin main'), { ruleFile })).not.toBe('')
    await writeFile(ruleFile, '- Never touch `src/legacy/`.\n')
    expect(await answer(shell('git push origin main'), { ruleFile })).toBe('')
    expect(await answer(shell('rm src/legacy/old.ts'), { ruleFile })).not.toBe('')
  })

  it('that another version of this program wrote is read again', async () => {
    writeGuarded(folder, {
      origin: ID,
      rules: [
        { ...guardedRule({ id: 'r1', text: 'Never push to main.', scope: 'everywhere', since: {} }), conditions: [] },
      ],
    })
    const [file = ''] = await filesOf()
    const old = JSON.parse(await readFile(file, 'utf8'))
    await writeFile(file, JSON.stringify({ ...old, build: 'older' }))
    expect(await answer(shell('git push origin main'))).not.toBe('')
    expect(JSON.parse(await readFile(file, 'utf8')).rules[0].conditions).not.toEqual([])
  })
})

async function filesOf(): Promise<string[]> {
  const { readdir } = await import('node:fs/promises')
  return (await readdir(guardFolder(folder))).map((name) => join(guardFolder(folder), name))
}

describe('the agent goes on', () => {
  it.each(['codex', 'gemini', 'opencode', 'pi'])(
    'in %s if its session cannot be read, because the user may have allowed the call',
    async (agent) => {
      guarded('Never push to main.')
      for (const transcript_path of [home, join(home, 'missing'), undefined])
        expect(await answer(shell('git push origin main'), { agent }, { transcript_path })).toBe('')
      expect(lastProblem(folder, agent)).toBeDefined()
    },
  )

  it('if a file of the guard has another form, and other rules apply', async () => {
    guarded('Never push to main.')
    for (const [at, text] of ['{"build":"x","rules":5}', '[]', '{"rules":[{}]}', 'null'].entries())
      await writeFile(join(guardFolder(folder), `${String(at)}.json`), text)
    expect(await answer(shell('git push origin main'))).not.toBe('')
  })

  it('if a file of the guard is damaged', async () => {
    guarded('Never push to main.')
    for (const file of await filesOf()) await appendFile(file, '}')
    expect(await answer(shell('git push origin main'))).toBe('')
  })

  it.each([
    ['that is absent', async (file: string) => await rm(file, { force: true })],
    ['that is a directory', async (file: string) => await mkdir(file)],
    ['of more than 1 MB', async (file: string) => await writeFile(file, 'x'.repeat(1_000_001))],
  ])('with the other rules if it has a rule file %s, and the problem is recorded', async (_name, make) => {
    const ruleFile = join(home, 'rules.md')
    await make(ruleFile)
    expect(await answer(shell('git status'), { ruleFile })).toBe('')
    expect(lastProblem(folder, 'claude-code')?.problem).toMatch(/rules\.md|EISDIR/u)
    guarded('Never push to main.')
    expect(await answer(shell('git push origin main'), { ruleFile })).not.toBe('')
  })

  it('whatever a call has as its arguments', async () => {
    guarded('Never push to main.')
    await fc.assert(
      fc.asyncProperty(fc.string({ minLength: 1 }), fc.jsonValue(), async (tool, input) => {
        expect(await answer({ tool_name: tool, tool_input: input })).toBe('')
      }),
      { numRuns: 100 },
    )
  })
})

describe('the commands', () => {
  const cli = async (...words: readonly string[]) =>
    await runCli([...words], { cwd: home, env: { HOME: home, XDG_STATE_HOME: '', CONTEXT_LEDGER_RESIDENT: 'off' } })

  it('keep the rules of the guard as the ledger has them', async () => {
    const state = join(home, process.platform === 'darwin' ? 'Library/Application Support' : '.local/state')
    folder = join(state, 'context-ledger', 'hooks')
    await mkdir(join(home, '.claude'))
    const store = ['--store', join(home, '.context-ledger')]
    await cli('import', join(process.cwd(), EXAMPLE), '--erasable', 'on', ...store)
    await cli('rules', 'confirm', 'b7d1', 'r2.3', ...store)
    // Without the guard, no copy of a rule leaves the ledger.
    expect(existsSync(folder)).toBe(false)

    const installed = await cli('install', '--agent', 'claude-code', '--guard', '--yes')
    expect([installed.status, installed.stdout]).toEqual([0, expect.stringContaining('PreToolUse')])
    expect(await answer(shell('git push origin main'))).not.toBe('')
    expect(await answer({ tool_name: 'Edit', tool_input: { file_path: 'src/legacy/a.ts' } })).toBe('')
    await cli('rules', 'confirm', 'b7d1', 'r2.4', '--scope', 'conversation', ...store)
    const legacy = { tool_name: 'Edit', tool_input: { file_path: 'src/legacy/a.ts', old_string: 'a', new_string: 'b' } }
    expect(await answer(legacy)).toBe('')
    expect(await answer(legacy, {}, { session_id: SESSION })).not.toBe('')
    await cli('rules', 'drop', 'b7d1', 'r2.3', ...store)
    expect(await answer(shell('git push origin main'))).toBe('')
    await cli('rules', 'add', 'b7d1', 'Never run `npm publish`.', '--scope', 'everywhere', ...store)
    expect(await answer(shell('npm publish'), {}, { cwd: '/' })).not.toBe('')
    const listed = await cli('rules', 'list', '--project', PROJECT, '--json', ...store)
    expect(JSON.parse(listed.stdout).lists[0].rules.map(({ text }: { text: string }) => text)).toEqual([
      'Never run `npm publish`.',
    ])

    await cli('erase', '--conversation', ID, '--reason', 'test', '--yes', ...store)
    expect(existsSync(guardFolder(folder))).toBe(false)
    expect((await cli('install', '--remove', '--yes')).status).toBe(0)
    expect(existsSync(folder)).toBe(false)
  }, 120_000)

  it('refuse another action, and a scope that a conversation cannot have', async () => {
    await mkdir(join(home, '.claude'))
    const refused = await cli('install', '--agent', 'claude-code', '--guard', 'dney', '--yes')
    expect([refused.status, refused.stderr]).toEqual([
      2,
      expect.stringContaining('--guard "dney" is not one of: ask, deny'),
    ])
    const ledger = await openLedger({ store: 'memory' })
    await ledger.append('c', { role: 'user', content: 'Never push to main.' })
    const { rules } = await ledger.rules.list('c')
    await expect(ledger.rules.confirm('c', rules[0]?.id ?? '', { scope: 'project' })).rejects.toThrow(
      'has no project folder',
    )
    expect(await ledger.rules.confirm('c', rules[0]?.id ?? '')).toMatchObject({ scope: 'conversation' })
    await ledger.close()
  })
})
