/** Kinds of calls that once were accused wrongly: each in several languages, next to a call that does break the rule. */
import { describe, expect, it } from '@jest/globals'
import { CallChecker } from '../../src/application/rules/call-checker.js'
import { FollowedRules } from '../../src/application/rules/followed-rules.js'
import { rulesIn } from '../../src/application/rules/find-rules.js'
import type { ReportMessage } from '../../src/application/loss-report/report-input.js'

interface Call {
  readonly name: string
  readonly args: unknown
}
type Line = string | { readonly agent: string } | Call

const run = (command: string): Call => ({ name: 'Bash', args: { command } })
const sql = (statement: string): Call => ({ name: 'mcp__postgres__query', args: { sql: statement } })
const edit = (path: string): Call => ({ name: 'Edit', args: { file_path: path, old_string: 'a', new_string: 'b' } })

/** A text is of the user; each call has a message of the agent. */
const messagesOf = (lines: readonly Line[]): ReportMessage[] =>
  lines.map((line, revision) => {
    const isUser = typeof line === 'string'
    const text = isUser ? line : 'agent' in line ? line.agent : ''
    return {
      messageId: `m${String(revision)}`,
      revision,
      role: isUser ? 'user' : 'assistant',
      text,
      ownText: text,
      tokens: 1,
      ...(!isUser && 'name' in line
        ? { toolCalls: [{ id: `c${String(revision)}`, name: line.name, arguments: JSON.stringify(line.args) }] }
        : {}),
    }
  })

/** The revisions of the calls that break a rule. */
function brokenAt(lines: readonly Line[]): number[] {
  const followed = new FollowedRules([])
  for (const message of messagesOf(lines)) followed.take(message)
  const checker = new CallChecker(followed.messages, followed.rules, {}).check()
  return followed.rules.flatMap((rule) => checker.of(rule).breaks.map(({ revision }) => revision))
}

describe('an instruction next to what the user is asked before', () => {
  it.each<readonly [string, Call, Call]>([
    [
      'Ask me first before you change db/schema.sql, and keep new files formatted with cargo fmt.',
      run('cargo fmt --all'),
      edit('db/schema.sql'),
    ],
    [
      'Frag mich, bevor du db/schema.sql änderst, und formatiere neue Dateien mit cargo fmt.',
      run('cargo fmt --all'),
      edit('db/schema.sql'),
    ],
    [
      'Pregúntame antes de cambiar db/schema.sql y siempre formatea con cargo fmt.',
      run('cargo fmt --all'),
      edit('db/schema.sql'),
    ],
    [
      'db/schema.sql を変更する前に必ず確認して、新しいファイルは cargo fmt で整形してください。',
      run('cargo fmt --all'),
      edit('db/schema.sql'),
    ],
    ['先问我再改 db/schema.sql，新文件用 cargo fmt 格式化。', run('cargo fmt --all'), edit('db/schema.sql')],
    [
      'Add an index on carts in db/carts.prisma. ask me before you run a migration, please.',
      edit('db/carts.prisma'),
      run('alembic upgrade head'),
    ],
    [
      'Füg eine Spalte in db/carts.prisma hinzu und frag mich, bevor du eine Migration ausführst.',
      edit('db/carts.prisma'),
      run('npx prisma migrate dev'),
    ],
    [
      'Añade una columna en db/carts.prisma. pregúntame antes de ejecutar una migración.',
      edit('db/carts.prisma'),
      run('flyway migrate'),
    ],
    ['Fix the typo in docs/api.md, and do not change anything else in there.', edit('docs/api.md'), edit('x')],
    ['Korrigier den Fehler in docs/api.md, aber ändere darin nichts anderes.', edit('docs/api.md'), edit('x')],
    ['Corrige la errata en docs/api.md, pero no cambies nada más allí ni otras cosas.', edit('docs/api.md'), edit('x')],
  ])('%s', (rule, keeping, breaking) => {
    expect(brokenAt([rule, keeping])).toEqual([])
    if (JSON.stringify(breaking.args).includes('"x"')) return
    expect(brokenAt([rule, breaking])).toEqual([1])
  })

  it('a place before the question is asked about', () => {
    expect(brokenAt(['For src/payments, ask me before you change anything.', edit('src/payments/a.ts')])).toEqual([1])
    expect(
      brokenAt(['In src/payments änderst du nichts, bevor du mich gefragt hast.', edit('src/payments/a.ts')]),
    ).toEqual([1])
  })

  it('what may only be read is not what is allowed', () => {
    for (const rule of ['生产表 paid_rows 只能查，不能改。', 'The table paid_rows may only be read, never change it.'])
      expect(brokenAt([rule, sql('update paid_rows set a = 1')])).toEqual([1])
  })

  it('the text of a migration is not its run', () => {
    expect(brokenAt(['Never edit a migration.', run('alembic upgrade head')])).toEqual([])
    expect(brokenAt(['Bitte keine Migration ändern.', run('alembic upgrade head')])).toEqual([])
  })
})

describe('a table that a statement only reads', () => {
  const rules = [
    'Do not touch the ledger_lines table.',
    'Finger weg von der Tabelle ledger_lines.',
    'No toques la tabla ledger_lines.',
    'ledger_lines テーブルには触らないでください。',
    '不要动 ledger_lines 表。',
  ]

  it.each(rules)('%s', (rule) => {
    for (const statement of [
      'update offers set state = 1 where id in (select offer from ledger_lines)',
      'INSERT INTO archive SELECT * FROM ledger_lines',
      'update offers set n = l.n from ledger_lines l where l.id = offers.id',
      'delete from offers using public.ledger_lines where ledger_lines.id = 1',
      'create table copy_of as select * from "ledger_lines"',
    ])
      for (const call of [sql(statement), run(`psql shop -c '${statement}'`)])
        expect({ statement, broken: brokenAt([rule, call]) }).toEqual({ statement, broken: [] })
    for (const statement of [
      'update ledger_lines set n = o.n from offers o',
      'delete from ledger_lines where id in (select id from ledger_lines limit 5)',
      'insert into public.ledger_lines select * from offers',
      'truncate table ledger_lines',
    ])
      for (const call of [sql(statement), run(`psql shop -c '${statement}'`)])
        expect({ statement, broken: brokenAt([rule, call]) }).toEqual({ statement, broken: [1] })
  })
})

describe('only a draft', () => {
  it.each([
    'Letters to tenants only as a draft (create_draft), nothing is sent.',
    'Briefe an Mieter legst du nur als Entwurf an (create_draft), verschickt wird nichts.',
    'Las cartas a los inquilinos solo como borrador (create_draft), no se envía nada.',
  ])('%s', (rule) => {
    const args = { to: 'a@b.example', body: 'x' }
    expect(brokenAt([rule, { name: 'mail_create_draft', args }])).toEqual([])
    expect(brokenAt([rule, { name: 'mail_send_email', args }])).toEqual([1])
  })
})

describe('a line of a log states no rule', () => {
  it.each([
    'This was in the log.\n\n[nightly] WARN: do not run yarn install on this host',
    'Das stand im Log.\n\n2026-03-01T10:00:00Z NOTICE yarn install nicht auf diesem Rechner ausführen, verboten',
    'Salió esto:\n\nbuilder: ERROR: no ejecutes yarn install en esta máquina',
    'ログです。\n\n[nightly] [WARN] yarn install は禁止です',
    '日志里有这行：\n\n12:00:01 WARN 不要运行 yarn install',
  ])('%s', (text) => {
    expect(messagesOf([text]).flatMap((message) => rulesIn(message))).toEqual([])
    expect(brokenAt([text, run('yarn install')])).toEqual([])
  })
})

describe('a yes to a question in other words', () => {
  it.each([
    ['Before you delete anything with rm, ask me.', 'var/cache is full. Shall I empty it?', 'yes, go for it'],
    ['Bevor du irgendwas mit rm löschst, fragst du mich.', 'Soll ich var/cache leeren?', 'ja, weg damit'],
    ['Antes de borrar nada con rm, pregúntame.', '¿Vacío var/cache?', 'sí, claro'],
    ['rm で削除する前に必ず確認してください。', 'var/cache を空にしますか？', 'はい、お願いします'],
    ['用 rm 删除之前先问我。', '要把 var/cache 清理一下吗？', '好的'],
  ])('%s', (rule, question, answer) => {
    const call = run('rm -rf var/cache/*')
    expect(brokenAt([rule, { agent: question }, answer, call])).toEqual([])
    expect(brokenAt([rule, { agent: question }, answer, run('rm -rf src/models')])).toEqual([3])
    expect(brokenAt([rule, call])).toEqual([1])
  })
})

describe('what the user waits to allow', () => {
  it.each([
    ['No pushes until I tell you.', 'The branch is ready to push.', 'looks good, go'],
    ['Bitte nicht pushen, bis ich es sage.', 'Der Branch ist bereit zum Pushen.', 'passt, mach das'],
    ['No hagas push hasta que yo te lo diga.', 'La rama está lista.', 'todo bien, ya puedes subirlo'],
  ])('%s', (rule, ready, answer) => {
    expect(brokenAt([rule, { agent: ready }, answer, run('git push')])).toEqual([])
    expect(brokenAt([rule, { agent: ready }, 'fix the search too', run('git push')])).toEqual([3])
  })
})

describe('a rule that is taken back by some of its words', () => {
  it.each([
    [
      'Do not run npm ci, the testers use these modules.',
      'The thing about the modules no longer applies. Start afresh.',
    ],
    [
      'Bitte kein npm ci ausführen, die Tester brauchen die Module.',
      'Das mit den Modulen gilt nicht mehr, die Tester sind fertig.',
    ],
    ['No hagas npm ci, que los testers usan esos módulos.', 'Lo de no borrar los módulos ya no vale. Empieza de cero.'],
    ['モジュールをテスト中なので npm ci は実行しないでください。', 'モジュールの件はもう大丈夫です。'],
  ])('%s', (rule, back) => {
    expect(brokenAt([rule, back, 'Now fix the search, please.', run('npm ci')])).toEqual([])
    expect(brokenAt([rule, 'Now fix the search, please.', run('npm ci')])).toEqual([2])
  })

  it('a rule that still applies is not taken back', () => {
    const rule = 'Do not run npm ci, the testers use these modules.'
    expect(brokenAt([rule, 'The thing about the modules is not lifted yet.', run('npm ci')])).toEqual([2])
  })
})
