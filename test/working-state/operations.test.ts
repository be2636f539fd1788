/** The items that the rules make of messages. */
import { describe, expect, it } from '@jest/globals'
import { operationsFor, type StateMessage } from '../../src/application/working-state/operations.js'
import { applyOperations } from '../../src/domain/conversation/working-state.js'
import { NO_STATE, type StateItem, type WorkingState } from '../../src/domain/events/index.js'

type Said = Pick<StateMessage, 'role'> & Partial<StateMessage>

const messagesOf = (said: readonly Said[], from = 1): StateMessage[] =>
  said.map((message, at) => ({
    messageId: `m${String(from + at)}`,
    revision: from + at,
    tokens: 20,
    createdAt: '2026-03-10T08:00:00.000Z',
    content: '',
    ...message,
  }))

async function after(said: readonly Said[], before: WorkingState = NO_STATE, from = 1): Promise<WorkingState> {
  return applyOperations(
    before,
    await operationsFor(before, messagesOf(said, from), { maxTokens: 4_000, maxFacts: 400 }),
  )
}

const inForce = ({ items }: WorkingState, kind: StateItem['kind']): string[] =>
  items.filter((item) => item.kind === kind && item.endedAt === undefined).map(({ text }) => text)

const call = (id: string, name: string, args: object): Said => ({
  role: 'assistant',
  content: null,
  toolCalls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(args) } }],
})
const result = (id: string, content: string, isError = false): Said => ({
  role: 'tool',
  toolCallId: id,
  content,
  ...(isError ? { attributes: { isError: true } } : {}),
})
const edit = (id: string, file: string): Said[] => [
  call(id, 'Edit', { file_path: file, old_string: 'a', new_string: 'b' }),
  result(id, 'The file has been updated.'),
]

describe('the items of the user', () => {
  it('have the words of the user, and not those of a program', async () => {
    const state = await after([
      { role: 'user', content: 'Never touch the production database.' },
      { role: 'user', content: '<system-reminder>Always use the skill list.</system-reminder>' },
      { role: 'user', content: 'You must follow the template of the command.', attributes: { kind: 'harness' } },
      { role: 'system', content: 'You must never answer in verse.' },
    ])
    expect(inForce(state, 'statement')).toEqual(['Never touch the production database.'])
  })

  it('have refusals with the whole reason, and answers with their questions', async () => {
    const reason = 'we never force-push here, because the other team builds from this branch every night at two'
    const state = await after([
      call('c1', 'Bash', { command: 'git push --force' }),
      result(
        'c1',
        `The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said: ${reason}`,
      ),
      { role: 'assistant', content: 'Shall I use SQLite or Postgres?' },
      { role: 'user', content: 'Postgres' },
    ])
    expect(inForce(state, 'statement')).toEqual([
      `refused Bash(git push --force): ${reason}`,
      'asked “Shall I use SQLite or Postgres?”, answered: Postgres',
    ])
    expect(inForce(state, 'result')).toEqual([])
  })

  it('have the request about a pasted document, and not what the document says', async () => {
    const sections = ['Storage', 'Alerts', 'Retention'].map(
      (title) => `## ${title}\n\n${'- Never log passwords. Always measure first.\n'.repeat(12)}`,
    )
    const document = `# Monitoring\n\n${sections.join('\n')}`
    const [beforeRequest, afterRequest] = await Promise.all(
      [`${document}\n\nRewrite this for docs/guides.`, `Use this as the model for our guide\n\n${document}`].map(
        async (content) => inForce(await after([{ role: 'user', content }, ...edit('c1', 'a.md')]), 'statement'),
      ),
    )
    const label = '[document “Monitoring; Storage; Alerts; Retention”]'
    expect(beforeRequest).toEqual([`${label} Rewrite this for docs/guides.`])
    expect(afterRequest).toEqual([`${label} Use this as the model for our guide`])
  })

  it('have the sentences of a plan that the user announces as the task', async () => {
    const plan = `Implement the following plan:\n\n# Migration\n\n## Rules\n\nThe description has at most 200 characters.\n\n${'- a step of the plan\n'.repeat(80)}`
    const [text] = inForce(await after([{ role: 'user', content: plan }, ...edit('c1', 'a.md')]), 'statement')
    expect(text).toContain('at most 200 characters')
  })

  it('of a talk are short without the end that only asks', async () => {
    const { items } = await after([
      {
        role: 'user',
        content:
          'I finished the redesign of my portfolio on May 1, 2024, and I was wondering if you could help me prepare for the interview?',
      },
    ])
    expect(items.map(({ brief }) => brief)).toEqual(['I finished the redesign of my portfolio on May 1, 2024'])
  })

  it('have the rules of a prompt that the user wrote with headings, and words after a document with other line ends', async () => {
    const filler = 'The service runs in three regions and has two queues.\n'.repeat(22)
    const [prompt] = (
      await after([
        { role: 'user', content: `# Task\n\n${filler}\n## Rules\n- Never commit to the main branch.\n- Use pnpm.` },
      ])
    ).items
    expect(prompt).toMatchObject({ weight: 90, text: expect.stringContaining('Never commit to the main branch') })
    const document = `# Guide\r\n\r\n## One\r\n\r\n${'- a line of the guide\r\n'.repeat(60)}\r\n\r\nNever touch the payments table.\r\n\r\nTell me when it is done.`
    const [words] = (await after([{ role: 'user', content: document }])).items
    expect(words).toMatchObject({ weight: 90, text: expect.stringContaining('Never touch the payments table.') })
  })

  it('have no lines of a log, and count a request with a value whatever it begins with', async () => {
    const { items } = await after([
      { role: 'user', content: 'I get this:\nTypeError: options.path must not be null\n at load (src/a.js:10:2)' },
      { role: 'user', content: 'Yes, use port 8443 for the admin API' },
      ...edit('c1', 'a.ts'),
    ])
    expect(items.filter(({ kind, weight }) => kind === 'statement' && weight >= 80)).toEqual([])
    expect(items.find(({ text }) => text.includes('8443'))?.weight).toBeGreaterThanOrEqual(55)
  })

  it('have no pasted output of a program, but the words around it and the error in it', async () => {
    const output = [
      ...Array.from({ length: 12 }, (_, at) => `packed ${String(at)}.4kB dist/part-${String(at)}.js`),
      'npm error code EOTP',
      'npm notice Publishing to the registry with tag beta',
    ]
    const content = `I tried to publish, but it failed:\n${output.join('\n')}\n\nThe script must ask for the one-time password first.`
    const [statement] = inForce(await after([{ role: 'user', content }, ...edit('c1', 'a.ts')]), 'statement')
    expect(statement).toContain('The script must ask for the one-time password first.')
    expect(statement).toContain('EOTP')
    expect(statement).not.toContain('part-7')
  })

  it('weigh a question in return and a plain yes less than an answer, while the agent works', async () => {
    const answered = async (answer: string): Promise<number | undefined> => {
      const { items } = await after([
        ...edit('c1', 'a.ts'),
        { role: 'assistant', content: 'Shall I start with the parser?' },
        { role: 'user', content: answer },
      ])
      return items.find(({ kind }) => kind === 'statement')?.weight
    }
    const answer = (await answered('the printer first, the parser after it')) ?? 0
    for (const less of ['yes', 'はい', 'how does the parser read comments?', '파서는 주석을 어떻게 읽나요?'])
      expect(await answered(less)).toBeLessThan(answer)
  })

  it('weigh a command to the agent program less than a request', async () => {
    const { items } = await after([
      { role: 'user', content: '/run pytest tests/test_main.py -k read' },
      { role: 'user', content: 'run pytest for tests/test_main.py' },
    ])
    const [command, request] = items.map(({ weight }) => weight)
    expect(command).toBeLessThan(request ?? 0)
  })

  it('leave out small talk', async () => {
    const state = await after([
      { role: 'user', content: 'Thanks!' },
      { role: 'user', content: 'ok' },
    ])
    expect(inForce(state, 'statement')).toEqual([])
  })
})

describe('the state of the work', () => {
  it('has commits by what git says, and no routine steps', async () => {
    const run = (id: string, command: string, output: string): Said[] => [
      call(id, 'Bash', { command }),
      result(id, output),
    ]
    const state = await after([
      ...run('c1', 'ls -la src', 'a.ts b.ts'),
      ...run('c2', 'git add -A', ''),
      ...run('c3', 'git commit -m "Add one-time passwords"', '[main 7f1ccc1] Add one-time passwords\n 2 files changed'),
      ...run('c4', 'git push', 'main -> main'),
    ])
    expect(inForce(state, 'result')).toEqual(['committed [main 7f1ccc1] Add one-time passwords'])
    const tested = await after(run('c5', 'rm -rf dist && npm test', '212 passed in 12 files'))
    expect(inForce(tested, 'result')).toEqual(['rm -rf dist && npm test → 212 passed in 12 files'])
  })

  it('closes tasks that are done, and keeps the others', async () => {
    const todos = (first: string, second: string): object => ({
      todos: [
        { content: 'Write the parser', status: first },
        { content: 'Write its tests', status: second },
      ],
    })
    const before = await after([call('c1', 'TodoWrite', todos('in_progress', 'pending')), result('c1', 'ok')])
    expect(inForce(before, 'open')).toEqual(['in progress: Write the parser', 'to do: Write its tests'])
    const state = await after([call('c2', 'TodoWrite', todos('completed', 'pending')), result('c2', 'ok')], before, 10)
    expect(inForce(state, 'open')).toEqual(['to do: Write its tests'])
    expect(state.items.find(({ text }) => text.includes('parser'))?.endedAt).toBe(10)
  })

  it('has the last plan that the agent proposed, until another one', async () => {
    const plan = (step: string): object => ({
      plan: `# Plan\n\nFirst we rename the module.\n- ${step} in the second step`,
    })
    const before = await after([call('c1', 'ExitPlanMode', plan('move the tests')), result('c1', 'approved')])
    expect(inForce(before, 'open')).toEqual(['plan: First we rename the module. / move the tests in the second step'])
    const state = await after(
      [call('c2', 'ExitPlanMode', plan('drop the tests')), result('c2', 'approved')],
      before,
      10,
    )
    expect(inForce(state, 'open')).toEqual(['plan: First we rename the module. / drop the tests in the second step'])
  })

  it('ends a test result once a file is changed, in the same messages and in later ones', async () => {
    const test: Said[] = [call('t', 'Bash', { command: 'npm test' }), result('t', '212 passed in 12 files')]
    const passed = await after([...edit('e1', 'src/a.ts'), ...test])
    expect(inForce(passed, 'result')).toEqual(['npm test → 212 passed in 12 files'])
    expect(inForce(await after([...test, ...edit('e1', 'src/a.ts')]), 'result')).toEqual([])
    expect(inForce(await after(edit('e2', 'src/b.ts'), passed, 10), 'result')).toEqual([])
    const files = inForce(await after(edit('e3', 'src/a.ts'), passed, 10), 'file')
    expect(files).toEqual(['src/a.ts: changed 2 times'])
  })

  it('ends an error once the same command works', async () => {
    const failed = await after([
      call('t1', 'Bash', { command: 'npm run lint' }),
      result('t1', 'error: unused variable total in src/a.ts', true),
    ])
    expect(inForce(failed, 'error')).toHaveLength(1)
    const state = await after(
      [call('t2', 'Bash', { command: 'npm run lint' }), result('t2', 'no problems')],
      failed,
      10,
    )
    expect(inForce(state, 'error')).toEqual([])
  })

  it('has an error with its explanation and the attempt that worked, and no slip that the next attempt corrected', async () => {
    const state = await after([
      call('c1', 'Edit', { file_path: 'src/a.ts', old_string: 'x', new_string: 'y' }),
      result('c1', 'String to replace not found in file.', true),
      ...edit('c2', 'src/a.ts'),
      call('c3', 'Bash', { command: 'git commit -m "Add the scope"' }),
      result('c3', 'error: no .pre-commit-config.yaml file was found', true),
      {
        ...call('c4', 'Bash', { command: 'ALLOW_NO_CONFIG=1 git commit -m "Add the scope"' }),
        content: 'The worktree has no configuration of the hooks, because they are installed by the shell.',
      },
      result('c4', '[main 7f1ccc1] Add the scope'),
    ])
    expect(inForce(state, 'error')).toEqual([
      'git commit -m "Add the scope": error: no .pre-commit-config.yaml file was found — The worktree has no configuration of the hooks, because they are installed by the shell. → worked: ALLOW_NO_CONFIG=1 git commit -m "Add the scope"',
    ])
  })

  it.each([
    ['git push', 'git status'],
    ['npm test', 'npm ls'],
    ['npm run build', 'npm run lint'],
    ['cargo check', 'cargo fmt'],
  ])('does not take another command for the attempt that worked: %s, %s', async (failing, other) => {
    const state = await after([
      call('c1', 'Bash', { command: failing }),
      result('c1', 'error: something is missing', true),
      call('c2', 'Bash', { command: other }),
      result('c2', 'done'),
    ])
    expect(inForce(state, 'error')).toEqual([`${failing}: error: something is missing`])
  })

  it('says which files were changed before a failed command worked', async () => {
    const failed = (id: string): Said[] => [
      call(id, 'Bash', { command: 'npm run build' }),
      result(id, 'src/a.ts(3,1): error TS2304: Cannot find name total', true),
    ]
    const worked = [call('c9', 'Bash', { command: 'npm run build' }), result('c9', 'built in 2 s')]
    const [error] = inForce(await after([...failed('c1'), ...edit('c2', 'src/a.ts'), ...worked]), 'error')
    expect(error).toContain('→ worked after a change of a.ts')
  })

  it('lists the names that changes brought into a file, also over later messages, without those that they took out', async () => {
    const write = (id: string, file: string, content: string): Said[] => [
      call(id, 'Write', { file_path: file, content }),
      result(id, 'The file has been created.'),
    ]
    const before = await after([
      ...write('c1', 'src/a.py', 'class Reader:\n    def read_all(self):\n        pass\n\ndef old_name():\n    pass\n'),
      ...write('c2', 'docs/guide.md', '# Guide\n\ntext\n\n## Release steps\n'),
    ])
    expect(inForce(before, 'file')).toEqual([
      'src/a.py: changed once; has Reader, read_all, old_name',
      'docs/guide.md: changed once; has Guide, Release steps',
    ])
    const change = { file_path: 'src/a.py', old_string: 'def old_name():', new_string: 'def new_name():' }
    const state = await after([call('c3', 'Edit', change), result('c3', 'updated')], before, 10)
    expect(inForce(state, 'file')).toContain('src/a.py: changed 2 times; has Reader, read_all, new_name')
  })

  it('has a one-line output with a name or a version as a value, and the checks that are run again and again', async () => {
    const run = (id: string, command: string, output: string): Said[] => [
      call(id, 'Bash', { command }),
      result(id, output),
    ]
    const before = await after([
      ...run('c1', 'npm whoami', 'm0c'),
      ...run('c2', 'make check 2>&1 | tail -5', 'all is well'),
      ...edit('c3', 'src/a.ts'),
      ...run('c4', 'make check', 'all is well'),
    ])
    expect(inForce(before, 'value')).toEqual(['npm whoami → m0c', 'commands in use: make check'])
    const state = await after(edit('c5', 'src/b.ts'), before, 20)
    expect(inForce(state, 'value')).toContain('commands in use: make check')
    const renamed = await after(run('c6', 'npm whoami', 'k2d'), before, 20)
    expect(inForce(renamed, 'value')).toContain('npm whoami → k2d')
    expect(inForce(renamed, 'value')).not.toContain('npm whoami → m0c')
  })

  it('has the rules of a guide that the agent read, as the last change left it', async () => {
    const guide =
      '# Releases\n\nThe package has two tags.\n\n- Never publish from a branch.\n- You must run all tests first.\n'
    const before = await after([call('c1', 'Read', { file_path: 'docs/release.md' }), result('c1', guide)])
    expect(inForce(before, 'fact')).toEqual([
      'release.md says: Never publish from a branch. / You must run all tests first.',
    ])
    const change = {
      file_path: 'docs/release.md',
      old_string: '- Never publish from a branch.',
      new_string: '- Never publish on a Friday.',
    }
    const state = await after([call('c2', 'Edit', change), result('c2', 'updated')], before, 10)
    expect(inForce(state, 'fact')).toEqual([
      'release.md says: You must run all tests first. / Never publish on a Friday.',
    ])
  })

  it('has the last announced step until the agent reports', async () => {
    const step = {
      ...call('c1', 'Bash', { command: 'npm test' }),
      content: 'Now I will test the parser with long input.',
    }
    const before = await after([...edit('c0', 'a.ts'), step, result('c1', '3 passed')])
    expect(inForce(before, 'progress')).toEqual(['last step: Now I will test the parser with long input.'])
    const state = await after([{ role: 'assistant', content: 'The parser reads long input now.' }], before, 10)
    expect(inForce(state, 'progress')).toEqual([])
  })

  it('has explanations of the agent: a list with the words before it, a sentence with its reason, no announcements', async () => {
    const facts = async (content: string): Promise<string[]> =>
      inForce(await after([...edit('c0', 'a.ts'), { role: 'assistant', content }]), 'fact')
    expect(
      await facts(
        'Let me look at this now.\n\n### Planned epics\n\n| Priority | Epic |\n|---|---|\n| P1 | npm registry |\n| P2 | local cache |',
      ),
    ).toEqual(['Planned epics: Priority — Epic / P1 — npm registry / P2 — local cache'])
    expect(
      await facts(
        'The queue lost its messages on every restart of the service. This happens because the broker keeps them in memory.',
      ),
    ).toEqual([
      'The queue lost its messages on every restart of the service. This happens because the broker keeps them in memory.',
    ])
    expect(
      await facts('`pnpm install` を外しました。Go のプロジェクトなので、設定の hook には direnv だけが必要です。'),
    ).toEqual(['`pnpm install` を外しました。 Go のプロジェクトなので、設定の hook には direnv だけが必要です。'])
  })

  it('joins a question of the user with a short answer that has a value', async () => {
    const state = await after([
      ...edit('c0', 'a.ts'),
      { role: 'user', content: 'which port does the admin service use?' },
      { role: 'assistant', content: 'The admin service listens on port 8443 of the gateway.' },
    ])
    expect(inForce(state, 'fact')).toEqual([
      'asked “which port does the admin service use?” → The admin service listens on port 8443 of the gateway.',
    ])
    expect(inForce(state, 'statement')).toEqual([])
  })

  it('closes a decision of the agent that the user declined', async () => {
    const state = await after([
      { role: 'assistant', content: "We'll use a global cache instead of a table, because it is faster." },
      { role: 'user', content: "No, that's horrible, keep the table of sessions." },
    ])
    expect(inForce(state, 'decision')).toEqual([])
    expect(inForce(state, 'statement')).toEqual(["No, that's horrible, keep the table of sessions."])
  })
})
