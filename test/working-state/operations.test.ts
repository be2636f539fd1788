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

  it('closes a decision of the agent that the user declined', async () => {
    const state = await after([
      { role: 'assistant', content: "We'll use a global cache instead of a table, because it is faster." },
      { role: 'user', content: "No, that's horrible, keep the table of sessions." },
    ])
    expect(inForce(state, 'decision')).toEqual([])
    expect(inForce(state, 'statement')).toEqual(["No, that's horrible, keep the table of sessions."])
  })
})
