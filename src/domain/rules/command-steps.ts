/** The steps of a shell command, in a form that can be compared with a rule. */
import { answerOf, bare, partsOf, wordsOf } from '../tools/shell.js'
import { ACTIONS, type Action } from './actions.js'
import type { CallStep } from './call-step.js'
import { cased } from './targets.js'

/** Options whose value is a text: the message of a commit, a title. */
const TEXT_OPTIONS = /^(?:-m|-am|-a?m|--message|--title|--body|--notes|-b|--description|--comment)$/u
/** A step that only shows its effect. */
const DRY =
  /(?:^|\s)(?:--dry-run(?:=\S+)?|--dryrun|--check|--diff|--no-act|--simulate|--just-print|-n(?=\s.*push)|plan|diff(?=\s+(?:upgrade|rollback|release|revision))|--help|-h$|--version)(?=\s|$)/u
const SQL_CLIENT =
  /^(?:psql|mysql|mariadb|sqlite3|duckdb|sqlcmd|mongosh?|redis-cli|clickhouse-client|cockroach|bq|snowsql|usql)$/u
/** Whether a program runs SQL, or the commands of a store. */
export const isSqlClient = (program: string): boolean => SQL_CLIENT.test(program)

/** Programs that run a command given as text. */
const RUNS_TEXT =
  /^(?:(?:ba|z|da)?sh|ssh|kubectl|docker|docker-compose|su|env|xargs|parallel|watch|nix|direnv|tox|poetry|uv|npx|pnpx|bunx)$/u

const SQL_READS = /^\s*(?:\(?\s*select|with|show|describe|desc|explain|\\d\S*|\\l|\\dt|pragma|use|set|begin|values)\b/iu
const SQL_DELETES = /\b(?:drop|delete\s+from|truncate)\b/iu
const SQL_CHANGES =
  /\b(?:insert\s+into|update\s+\S+\s+set|delete\s+from|drop\s+(?:table|database|schema|index|view|column)|truncate|alter\s+(?:table|database|schema|role)|create\s+(?:table|index|view|database|schema|unique)|replace\s+into|merge\s+into|grant\b|revoke\b|copy\s+\S+\s+from|vacuum\s+full)\b/iu

const READING: ReadonlySet<Action> = new Set<Action>(['read'])

/** The actions of SQL that changes something; undefined for another text. */
export const sqlChanges = (text: string): ReadonlySet<Action> | undefined =>
  SQL_CHANGES.test(text) ? new Set<Action>(SQL_DELETES.test(text) ? ['change', 'delete'] : ['change']) : undefined

/** The actions of SQL; undefined for another text. */
export const sqlActions = (text: string): ReadonlySet<Action> | undefined =>
  sqlChanges(text) ?? (SQL_READS.test(text) ? READING : undefined)

/** A table that a statement changes, and one that it only reads: in a subquery, in a join, as the source of rows. */
const SQL_CHANGED =
  /\b(?:insert\s+into|replace\s+into|merge\s+into|delete\s+from|truncate(?:\s+table)?|update|alter\s+table|drop\s+table(?:\s+if\s+exists)?|create\s+table(?:\s+if\s+not\s+exists)?|copy)\s+(?:only\s+)?([\w."`[\]]+)/giu
const SQL_READ = /(?<!\bdelete\s{1,9})\b(?:from|join|using)\s+(?:only\s+|lateral\s+)?([\w."`[\]]+)/giu
const withoutMarks = (name: string): string => name.toLowerCase().replaceAll(/["`[\]]/gu, '')

/** Names in SQL without those of tables that it only reads. */
export function namesInSql(text: string): string[] {
  const tables = (pattern: RegExp): string[] =>
    Array.from(text.slice(0, MOST_NAMES).matchAll(pattern), ([, name = '']) => withoutMarks(name))
  const lastOf = (name: string): string => name.split('.').at(-1) ?? name
  const changed = new Set(tables(SQL_CHANGED).map(lastOf))
  const onlyRead = tables(SQL_READ).flatMap((name) =>
    name === '' || changed.has(lastOf(name)) ? [] : [name, lastOf(name)],
  )
  const names = namesIn(text)
  return onlyRead.length === 0
    ? names
    : names.filter((name) => !onlyRead.some((table) => name === table || name.startsWith(`${table}.`)))
}

/** The rest of a longer text is content. */
const MOST_NAMES = 20_000

/** Names in a text: words with their marks, and their parts between colons, slashes and equals signs. */
export function namesIn(text: string): string[] {
  const lower = text.slice(0, MOST_NAMES).toLowerCase()
  const pieces = lower.match(/[\p{L}\p{N}_.~*+@:/\\=#-]+/gu) ?? []
  return [
    ...new Set(
      pieces.flatMap((piece) => {
        const plain = piece.replace(/^[.,:;]{1,9}(?=\w)/u, '').replace(/(?<![.,:;])[.,:;]+$/u, '')
        return [plain, ...plain.split(/[:/\\=@?&]+/u), ...plain.split(/[:=@]+/u)]
      }),
    ),
  ].filter((name) => name !== '')
}

/** A copy changes its target only. */
const COPIES = /^(?:cp|copy-item|scp|rsync|ln)$/u

/** Words of a part without the values of options that are texts. */
function operandsOf(words: readonly string[]): string[] {
  const isText = words.map((word, at) => at > 0 && TEXT_OPTIONS.test(words[at - 1] ?? ''))
  return words.filter((word, at) => isText[at] !== true && !/^--(?:message|title|body|notes|description)=/u.test(word))
}

const CHANGES_BY_NAME =
  /(?:^|[^\p{L}])(?:migrat\p{L}*|seed|write|delete|drop|truncate|wipe|purge|reset|restore|import|load|sync|upsert|update|apply|backfill|rename|fix|clean(?:up)?|insert|push|set)(?![\p{L}])/iu

/** Options of `ssh` with a value. */
const SSH_VALUES = /^-[bcDEeFIiJLlmOopQRSWw]$/u

/** The command that a command runs: after `--`, as one text, or after the host of `ssh`. */
function innerCommand(program: string, words: readonly string[]): string {
  if (!RUNS_TEXT.test(program)) return ''
  if (program === 'ssh') {
    const host = words.findIndex((word, at) => at > 0 && !word.startsWith('-') && !SSH_VALUES.test(words[at - 1] ?? ''))
    return host < 0 ? '' : words.slice(host + 1).join(' ')
  }
  const dashes = words.indexOf('--')
  return words.findLast((word) => /\s/u.test(word)) ?? (dashes < 0 ? '' : words.slice(dashes + 1).join(' '))
}

/** A part of a command, without redirections and the text of a here-document. */
interface Parsed {
  readonly plain: string
  readonly program: string
  /** The program and its words, without the values of options that are texts. */
  readonly operands: readonly string[]
  readonly words: readonly string[]
  /** The file that the output is written to. */
  readonly target: string | undefined
  /** It reads a file of statements. */
  readonly isFed: boolean
}

const blank = (text: string): string => text.replaceAll(/"[^"]*"|'[^']*'/gu, (quoted) => '_'.repeat(quoted.length))

const REDIRECTION =
  /(?<![0-9&=>-])(?:\d?>{1,2}\s*&?\s*(?<file>[^\s&>|;<]+)|\d?>&\d|&>\s*[^\s&>|;<]+|(?<!<)<(?![<(])\s*[^\s&>|;<]+)/gu

function parsed(part: string): Parsed {
  const [head = part] = part.split(/<<-?\s*['"]?\w/u)
  const bareHead = bare(head).trim()
  const found = Array.from(blank(bareHead).matchAll(REDIRECTION))
  const target = found
    .map(({ groups }) => groups?.['file'])
    .findLast((file) => file !== undefined && !/^(?:\d|\/dev\/null)$/u.test(file))
  let plain = bareHead
  for (const { index, 0: text } of found.toReversed())
    plain = `${plain.slice(0, index)} ${plain.slice(index + text.length)}`
  const words = wordsOf(plain.trim())
  return {
    plain: bareHead,
    program: (words[0] ?? '').replace(/^.*[/\\]/u, '').toLowerCase(),
    operands: operandsOf(words),
    words,
    target,
    isFed: found.some(([text]) => text.startsWith('<')) || /(?:^|\s)(?:-f|--file)\s+\S+\.sql(?:\s|$)/u.test(plain),
  }
}

/** The words of a git command from its subcommand on: `git -C /repo push` is `push`. */
function gitWords(operands: readonly string[]): readonly string[] {
  let at = 1
  while (operands[at]?.startsWith('-') === true) at += /^-[cC]$/u.test(operands[at] ?? '') ? 2 : 1
  return operands.slice(at)
}

/** The branches that a push names as its destination. */
const destinations = (words: readonly string[]): readonly string[] =>
  words
    .filter((word) => !word.startsWith('-'))
    .slice(2)
    .map((refspec) =>
      refspec
        .replace(/^\+/u, '')
        .replace(/^.*:/u, '')
        .replace(/^refs\/heads\//u, '')
        .toLowerCase(),
    )

/** A command in the form that the table of actions reads. */
const canonical = ({ program, operands }: Parsed): readonly string[] =>
  program === 'git' ? ['git', ...gitWords(operands)] : [program, ...operands.slice(1)]

/** The actions of a part. */
function actionsOf(given: Parsed, words: readonly string[], sql: ReadonlySet<Action> | undefined): Set<Action> {
  const text = words.map(cased).join(' ')
  const actions = new Set<Action>(sql ?? [])
  for (const { action, command } of ACTIONS) if (command?.test(text) === true) actions.add(action)
  // SQL clients have no commands of the table.
  return isSqlClient(given.program) ? new Set(sql ?? []) : actions
}

/** `tar` and `zip` change the archive, and not the packed files. */
const ARCHIVERS = /^(?:tar|zip|7z|gzip)$/u

/** The words on which a part acts. */
function actedOn({ program, operands }: Parsed): readonly string[] {
  if (COPIES.test(program)) return [program, ...operands.slice(-1)]
  if (ARCHIVERS.test(program))
    return [program, ...operands.slice(1).filter((word) => /\.(?:tar|t?gz|zip|7z|bz2|xz)$/u.test(word))]
  return operands
}

const isFile = (word: string): boolean => /[./\\]/u.test(word) && !word.startsWith('-')

/** The step of a change of one file by a redirection. */
const written = (file: string, text: string): CallStep => ({
  actions: new Set<Action>(['change']),
  reads: false,
  names: namesIn(file),
  files: [file],
  amounts: [],
  text,
  command: [],
})

/** The step of a part that is no fixed text and runs no other command. */
function stepOf(given: Parsed, part: string): CallStep {
  const { program, plain, isFed, target } = given
  const answer = answerOf(part)
  // A file of statements may change anything.
  const sql = !isSqlClient(program)
    ? undefined
    : (sqlChanges(given.words.slice(1).join(' ')) ?? (isFed ? new Set<Action>(['change']) : READING))
  const words = canonical(given)
  const actions = actionsOf(given, words, sql)
  const isDry = DRY.test(plain)
  const changes = CHANGES_BY_NAME.test(words.slice(0, 3).join(' '))
  const acts = answer === 'acts' && target === undefined
  const reads =
    isDry || sql?.has('read') === true || (sql === undefined && actions.size === 0 && !isFed && !acts && !changes)
  // A program that only reads changes the file of its output.
  if (reads && target !== undefined && !isDry) return written(target, plain)
  if (reads) actions.add('read')
  else {
    actions.add('use')
    if (acts || isFed || changes) actions.add('change')
  }
  if (!isDry) actions.add('run')
  const acted = actedOn(given)
  const isPush = program === 'git' && words[1] === 'push'
  const isOnBranch = program === 'git' && /^(?:push|commit|merge|rebase)$/u.test(words[1] ?? '')
  return {
    actions,
    reads,
    names: isOnBranch ? [] : (sql?.has('change') === true ? namesInSql : namesIn)(acted.join(' ')),
    command: words.map(cased),
    files: isOnBranch ? [] : acted.slice(1).filter(isFile),
    ...(isOnBranch ? { branches: isPush ? destinations(words.slice(1)) : [] } : {}),
    amounts: [],
    text: plain,
  }
}

/** The steps of one part of a shell command. */
function stepsOfPart(part: string, depth: number): readonly CallStep[] {
  const given = parsed(part)
  const { program, words, plain, target } = given
  if (program === '') return []
  const inner = depth < 3 ? innerCommand(program, words) : ''
  const innerSteps = inner === '' ? [] : stepsOfCommand(inner, depth + 1)
  // The names of the outer command say where the inner one acts: a host, a container.
  if (innerSteps.length > 0) {
    const places = namesIn(
      words
        .slice(1)
        .filter((word) => !/\s/u.test(word))
        .join(' '),
    )
    return innerSteps.map((step) => ({ ...step, names: [...step.names, ...places], text: plain }))
  }
  if (target !== undefined && /^(?:echo|printf|cat)$/u.test(program)) return [written(target, plain)]
  // Fixed text is printed.
  return answerOf(part) === undefined ? [] : [stepOf(given, part)]
}

/** A longer command is a script or a file, and is not read. */
const MOST_COMMAND = 100_000
const HERE = /<<-?\s*['"]?(\w+)['"]?/u

/** A command without the text of its here-documents, which is written and not run. */
function withoutHereDocuments(command: string): string {
  const lines: string[] = []
  let end: string | undefined
  for (const line of command.split('\n')) {
    if (end !== undefined) {
      if (line.trim() === end) end = undefined
      continue
    }
    end = HERE.exec(line)?.[1]
    lines.push(end === undefined ? line : line.replace(HERE, '<<TEXT'))
  }
  return lines.join('\n')
}

/** The steps of a shell command. */
export function stepsOfCommand(command: string, depth = 0): CallStep[] {
  if (command.length > MOST_COMMAND) return []
  const withoutTexts = withoutHereDocuments(command)
  return partsOf(withoutTexts).flatMap((part) => stepsOfPart(part, depth))
}
