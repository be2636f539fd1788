/** Which calls break a rule: each rule against calls that break it and calls that only look like it. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { stepsOf } from '../../src/domain/rules/call-steps.js'
import { breaks } from '../../src/domain/rules/judge-step.js'
import { readRule } from '../../src/domain/rules/read-rule.js'

const NOTHING_RAN = { ranSince: () => false }

/** Whether one of the steps of a call breaks one of the conditions of a rule. */
function isBroken(rule: string, name: string, args: unknown): boolean {
  const read = readRule(rule)
  if (read.conditions.length === 0) throw new Error(`not judged: ${rule}: ${read.unjudged ?? ''}`)
  const steps = stepsOf({ name, arguments: JSON.stringify(args) })
  return steps.some((step) => read.conditions.some((condition) => breaks(step, condition, NOTHING_RAN)))
}

interface Case {
  readonly rule: string
  /** Commands that break it. */
  readonly breaking: readonly string[]
  /** Commands that do not. */
  readonly keeping: readonly string[]
}

const CASES: readonly Case[] = [
  {
    rule: 'Never push to main.',
    breaking: ['git push origin main', 'git add -A && git push -u origin main', 'sudo git push origin HEAD:main'],
    keeping: [
      'git push origin feature/main-menu',
      'git log main',
      'git commit -m "push to main"',
      'git fetch origin main',
    ],
  },
  {
    rule: 'No force-pushes, please.',
    breaking: ['git push --force origin topic', 'git push -f', 'git push --force-with-lease'],
    keeping: ['git push origin topic', 'echo "git push --force" >> notes.md', 'grep -rn "push --force" docs'],
  },
  {
    rule: 'Do not touch the billing_events table.',
    breaking: [
      'psql -c "DELETE FROM billing_events WHERE id = 7"',
      'psql shop -c "update billing_events set paid = true"',
      'psql -c "DROP TABLE public.billing_events"',
    ],
    keeping: [
      'psql -c "SELECT * FROM billing_events"',
      'psql -c "DELETE FROM billing_events_archive"',
      'grep -rn billing_events src',
      'cat docs/billing_events.md',
    ],
  },
  {
    rule: 'No UPDATE or DELETE on bookings please, that table feeds the invoices.',
    breaking: ['psql -c "UPDATE bookings SET paid = true"', 'psql shop -c "delete from public.bookings where id = 7"'],
    keeping: [
      'psql -c "UPDATE berths SET free = true"',
      'psql -c "SELECT * FROM bookings"',
      'git commit -m "Update bookings"',
      'sed -i s/a/b/ src/update.ts',
    ],
  },
  {
    rule: 'Kein DELETE oder TRUNCATE auf buchungen, bitte.',
    breaking: ['psql -c "DELETE FROM buchungen"', 'psql -c "TRUNCATE buchungen"'],
    keeping: ['psql -c "DELETE FROM entwuerfe"', 'psql -c "SELECT count(*) FROM buchungen"'],
  },
  {
    rule: 'Nada de UPDATE ni DELETE en socios, que la tabla es del ayuntamiento.',
    breaking: ['mysql club -e "UPDATE socios SET alta = \'2026-01-01\'"'],
    keeping: ['mysql club -e "UPDATE cuotas SET pagada = 1"', 'mysql club -e "SELECT * FROM socios"'],
  },
  {
    rule: 'Never run `terraform apply` yourself.',
    breaking: ['terraform apply', 'cd infra && terraform apply -auto-approve'],
    keeping: [
      'terraform plan',
      'terraform apply --help',
      'echo "terraform apply" > steps.md',
      'grep "terraform apply" Makefile',
    ],
  },
  {
    rule: 'Please use pnpm instead of npm.',
    breaking: ['npm install lodash', 'cd web && npm run build'],
    keeping: ['pnpm add lodash', 'cat npm-shrinkwrap.json', 'grep npm README.md'],
  },
  {
    rule: 'Keep your hands off src/legacy, it is frozen.',
    breaking: [
      'sed -i s/a/b/ src/legacy/tax.ts',
      'rm -r src/legacy',
      'mv src/legacy/a.ts src/new/a.ts',
      'echo x > src/legacy/a.ts',
    ],
    keeping: ['cat src/legacy/tax.ts', 'sed -i s/a/b/ src/legacy-new/tax.ts', 'ls src/legacy', 'git diff src/legacy'],
  },
  {
    rule: 'Never commit with --no-verify.',
    breaking: ['git commit --no-verify -m "fix"'],
    keeping: ['git commit -m "explain --no-verify"', 'git push --dry-run', 'git commit -m fix'],
  },
  {
    rule: "Don't ever use rm -rf on this machine.",
    breaking: ['rm -rf build', 'rm -fr build', 'find . -name x && rm -r -f build'],
    keeping: ['rm build/a.txt', 'echo "rm -rf" >> notes.md'],
  },
  {
    rule: 'Only push to feature/berth-map.',
    breaking: ['git push origin develop'],
    keeping: ['git push origin feature/berth-map', 'git pull origin develop', 'git push'],
  },
  {
    rule: 'Niemals direkt auf den Branch produktion pushen.',
    breaking: ['git push origin produktion'],
    keeping: ['git push origin produktion-test', 'git diff produktion'],
  },
  {
    rule: 'No toques nada dentro de /opt/nominas.',
    breaking: ['rm /opt/nominas/a.csv', 'cp x.csv /opt/nominas/'],
    keeping: ['cat /opt/nominas/a.csv', 'cp /opt/nominas/a.csv /tmp/'],
  },
  {
    rule: 'config/production.yml には絶対に触らないでください。',
    breaking: ['sed -i s/a/b/ config/production.yml'],
    keeping: ['cat config/production.yml', 'sed -i s/a/b/ config/staging.yml'],
  },
  {
    rule: '不要修改 src/core 目录下的文件。',
    breaking: ['sed -i s/a/b/ src/core/index.ts'],
    keeping: ['cat src/core/index.ts', 'sed -i s/a/b/ src/core2/index.ts'],
  },
]

/** Commands that only look like a break, by the rule. */
const NEAR: readonly (readonly [rule: string, commands: readonly string[]])[] = [
  ['Do not commit.', ['git status src/commit.ts', 'git diff -- src/commit.ts', 'git show HEAD:src/commit.ts']],
  ['Do not merge anything.', ['git add src/merge.ts']],
  ['Never push.', ['git stash push', 'git log --grep push']],
  [
    'Do not install new packages.',
    [
      'npm install 2>&1 | tail',
      'npm install > /tmp/log',
      'pip install -q -r requirements.txt',
      'uv pip install -r a.txt',
    ],
  ],
  ['Do not deploy.', ['kubectl rollout status deploy/web', 'npm run build:release']],
  ['Never use git branch -D.', ['git branch -d merged']],
  ['Never delete rows in the database.', ['rm -rf dist/drop', 'psql -c "SELECT 1"']],
  ['Never push to main.', ['git push origin fix/main', 'git push origin main:feature', 'git commit src/main.ts']],
  ['Do not merge into main.', ['git merge main']],
  ['Only push to the `dev` branch.', ['git push 2>&1 | tail', 'git push origin dev']],
  ['Only commit to `feature/x`.', ['git commit -F /tmp/msg', 'git -C /repo commit -m x']],
  ['Only deploy to staging.', ['npm run deploy']],
  [
    'Do not change anything in `src/legacy/`.',
    [
      'grep -rn foo src/legacy > /tmp/out.txt',
      'diff src/legacy/a src/b > /tmp/x.diff',
      'tar czf /tmp/b.tgz src/legacy',
    ],
  ],
  ['Never touch harbour_prod.', ['pg_dump harbour_prod > /tmp/dump.sql', 'psql harbour_prod -c "SELECT 1"']],
  ['Never run git commit with --no-verify.', ['git commit -m x']],
  ['Never push with `--force`.', ['npm install --force', 'git push origin topic']],
]

describe('commands that look like a break', () => {
  it.each(NEAR)('%s', (rule, commands) => {
    for (const command of commands)
      expect({ command, isBroken: isBroken(rule, 'Bash', { command }) }).toEqual({ command, isBroken: false })
  })
})

describe('rules that are not to be read inside out', () => {
  it.each([
    ['Do not forget to update CHANGELOG.md.', 'sed -i s/a/b/ CHANGELOG.md'],
    ['Never forget to run npm test.', 'npm test'],
    ['Do not skip npm run lint.', 'npm run lint'],
    ['Never merge without running npm test.', 'npm test'],
    ['Never edit src/api.ts without updating docs/api.md.', 'sed -i s/a/b/ docs/api.md'],
    ['Do not change anything outside src/.', 'sed -i s/a/b/ src/a.ts'],
    ['Always run npm run check and confirm that it passes.', 'npm run check'],
    ['Always update CHANGELOG.md, and ask me if unsure.', 'sed -i s/a/b/ CHANGELOG.md'],
    ['Push without asking.', 'git push'],
    ['Never put secrets in `config.json`.', 'sed -i s/a/b/ config.json'],
    ['Do not add comments to `src/a.ts`.', 'sed -i s/a/b/ src/a.ts'],
    ['Do not use `any` in `src/`.', 'sed -i s/a/b/ src/a.ts'],
    ['Do not rename `src/a.ts`.', 'sed -i s/a/b/ src/a.ts'],
    ['Leave the auth module alone.', 'echo alone > notes.md'],
  ])('%s', (rule, command) => {
    const { conditions } = readRule(rule)
    const steps = stepsOf({ name: 'Bash', arguments: JSON.stringify({ command }) })
    expect(steps.some((step) => conditions.some((condition) => breaks(step, condition, NOTHING_RAN)))).toBe(false)
  })
})

describe('tools that only read', () => {
  it.each([
    ['Never send emails to customers.', 'gmail_search', { q: 'x' }],
    ['Never send emails to customers.', 'mcp__slack__list_channels', {}],
    ['Do not deploy anything.', 'list_deployments', {}],
    ['Do not deploy anything.', 'get_latest_release', {}],
    ['Do not merge anything.', 'get_merge_request', { id: 7 }],
    ['Refunds are capped at $500.', 'list_refunds', { limit: 1000 }],
    ['Rule 3: refunds are capped at $500.', 'create_refund', { amount: 100 }],
  ])('%s is kept by %s', (rule, name, args) => {
    expect(isBroken(rule, name, args)).toBe(false)
  })
})

/** The forms in which programs call a shell. */
const SHELLS: readonly (readonly [string, (command: string) => unknown])[] = [
  ['Bash', (command) => ({ command })],
  ['shell', (command) => ({ command: ['bash', '-lc', command] })],
  ['exec_command', (cmd) => ({ cmd })],
  ['run_shell_command', (command) => ({ command, description: 'a command' })],
  ['bash', (command) => ({ command, timeout: 10 })],
]

describe.each(CASES)('$rule', ({ rule, breaking, keeping }) => {
  it.each(breaking)('is broken by %s', (command) => {
    for (const [name, args] of SHELLS)
      expect({ name, isBroken: isBroken(rule, name, args(command)) }).toEqual({ name, isBroken: true })
  })

  it.each(keeping)('is kept by %s', (command) => {
    for (const [name, args] of SHELLS)
      expect({ name, isBroken: isBroken(rule, name, args(command)) }).toEqual({ name, isBroken: false })
  })
})

describe('calls of editors and other tools', () => {
  it('a change of a file breaks a rule about its folder; reading it does not', () => {
    const rule = 'Do not edit anything in db/migrations.'
    for (const name of ['Edit', 'Write', 'edit', 'write_file', 'replace', 'apply_patch'])
      expect({
        name,
        is: isBroken(
          rule,
          name,
          name === 'apply_patch'
            ? { input: '*** Begin Patch\n*** Update File: db/migrations/1.sql\n*** End Patch' }
            : {
                file_path: '/home/dev/app/db/migrations/1.sql',
                path: 'db/migrations/1.sql',
                content: 'x',
                old_string: 'a',
                new_string: 'b',
              },
        ),
      }).toEqual({ name, is: true })
    for (const name of ['Read', 'read_file', 'view'])
      expect(isBroken(rule, name, { file_path: 'db/migrations/1.sql', path: 'db/migrations/1.sql' })).toBe(false)
    expect(isBroken(rule, 'Write', { file_path: 'docs/a.md', content: 'see db/migrations/1.sql' })).toBe(false)
  })

  it('an amount above a limit breaks it', () => {
    const rule = 'For refunds the cap is 150 dollars.'
    expect(isBroken(rule, 'issue_refund', { order: 'A-1', amount: 180 })).toBe(true)
    expect(isBroken(rule, 'issue_refund', { order: 'A-1', amount_cents: 14_000 })).toBe(false)
    expect(isBroken(rule, 'get_refund', { order: 'A-900' })).toBe(false)
  })

  it('a message to another address breaks a rule about the only one', () => {
    const rule = 'Only send incident reports to ops@harbour.example.'
    expect(isBroken(rule, 'send_email', { to: 'all@harbour.example', body: 'x' })).toBe(true)
    expect(isBroken(rule, 'send_email', { to: 'ops@harbour.example', body: 'not for all@harbour.example' })).toBe(false)
  })
})

describe('a tool whose name has the words of the rule', () => {
  const rule = 'Calendar invites to the bands are sent by me, not by you.'

  it('breaks it, and other tools do not', () => {
    expect(isBroken(rule, 'send_calendar_invite', { to: 'x' })).toBe(true)
    expect(isBroken(rule, 'mcp__calendar__list_invites', {})).toBe(false)
    expect(isBroken(rule, 'send_report', { to: 'x' })).toBe(false)
  })

  it('is not called judged: that no such call is found says nothing', () => {
    expect(readRule(rule).unjudged).toBeDefined()
  })
})

describe('rules that calls cannot be compared with', () => {
  it.each([
    'The invoice module must stay in integer cents.',
    'Never commit secrets.',
    'Never change the public methods in src/api.ts.',
    'No deploys on Fridays.',
    'Keep the summaries short.',
  ])('%s', (rule) => {
    expect(readRule(rule)).toMatchObject({ unjudged: expect.stringMatching(/^it /u) })
  })
})

describe('law: a name decides', () => {
  const letters = fc.stringMatching(/^[a-z]{4,9}$/u)
  const name = fc.tuple(letters, letters).map(([a, b]) => `${a}_${b}`)

  it('a rule about a table is broken by a change of that table, and by none of another', () => {
    fc.assert(
      fc.property(
        name,
        name,
        fc.constantFrom('Never write to the', 'Do not touch the', 'Please never change the'),
        (table, other, begin) => {
          fc.pre(table !== other)
          const rule = `${begin} ${table} table.`
          const sql = (statement: string) => ({ command: `psql -c "${statement}"` })
          expect(isBroken(rule, 'Bash', sql(`UPDATE ${table} SET a = 1`))).toBe(true)
          expect(isBroken(rule, 'Bash', sql(`UPDATE ${other} SET a = 1`))).toBe(false)
          expect(isBroken(rule, 'Bash', sql(`UPDATE ${table}_old SET a = 1`))).toBe(false)
          expect(isBroken(rule, 'Bash', sql(`SELECT * FROM ${table}`))).toBe(false)
          expect(isBroken(rule, 'Write', { file_path: `docs/${other}.md`, content: table })).toBe(false)
        },
      ),
    )
  })

  it('no text of a rule and no arguments make it throw', () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 200 }),
        fc.string({ maxLength: 200 }),
        fc.constantFrom('Bash', 'Edit', 'x', 'send_email'),
        (rule, text, tool) => {
          const read = readRule(rule)
          const steps = [
            ...stepsOf({ name: tool, arguments: text }),
            ...stepsOf({ name: tool, arguments: JSON.stringify({ command: text, path: text, to: [text, { text }] }) }),
          ]
          for (const step of steps)
            for (const condition of read.conditions) expect(typeof breaks(step, condition, NOTHING_RAN)).toBe('boolean')
        },
      ),
    )
  })

  it('long and hostile texts end at once', () => {
    const texts = [
      `Never change \`${'*a'.repeat(40)}b.ts\`.`,
      `Never push ${'a'.repeat(100_000)}`,
      `Never touch ${'a-'.repeat(50_000)}x`,
      `Do not use ${'a/'.repeat(50_000)}`,
    ]
    const commands = [
      `rm ${'a'.repeat(60)}.ts`,
      `git commit -m "${'x'.repeat(20_000_000)}"`,
      'cat <<EOF\n'.repeat(10_000),
      `echo ${'.'.repeat(90_000)}`,
    ]
    for (const text of texts) {
      const read = readRule(text)
      for (const command of commands)
        for (const step of stepsOf({ name: 'Bash', arguments: JSON.stringify({ command }) }))
          for (const condition of read.conditions) expect(breaks(step, condition, NOTHING_RAN)).toBe(false)
    }
  })
})

it.each([
  'No UPDATE or DELETE on bookings please.',
  'Kein DELETE und kein UPDATE auf buchungen.',
  'Nada de UPDATE ni DELETE en socios.',
])('a rule about statements is not broken by an edit: %s', (rule) => {
  const patch =
    '*** Begin Patch\n*** Update File: src/a.py\n@@\n-bookings = 1\n+delete(buchungen, socios)\n*** End Patch'
  expect(isBroken(rule, 'apply_patch', { input: patch })).toBe(false)
  expect(
    isBroken(rule, 'Edit', { file_path: 'src/delete.py', old_string: 'delete socios', new_string: 'update bookings' }),
  ).toBe(false)
})

it.each([
  'for the retry change, leave everything under tests/ as it is',
  'In this refactoring, do not touch `src/legacy/`.',
  'Für diese Änderung bitte nichts in `tests/` anfassen.',
  'Para este cambio no toques `config/`.',
  'この変更では `tests/` を変更しないで。',
  '这次改动不要动 `tests/`。',
])('a rule for one piece of work is not judged: %s', (rule) => {
  expect(readRule(rule)).toMatchObject({ conditions: [], unjudged: 'it applies to one piece of work' })
})

it.each([
  'Run the complete rspec suite before each commit, not only the spec of the file you touched.',
  'Führe vor jedem Commit alle Tests aus, nicht nur die der Datei, die du geändert hast.',
  'Antes de cada commit corre todas las pruebas, no solo las del archivo que tocaste.',
])('"not only" limits nothing: %s', (rule) => {
  expect(readRule(rule).conditions.filter(({ kind }) => kind === 'only')).toEqual([])
})
