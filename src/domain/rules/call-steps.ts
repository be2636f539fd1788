/**
 * What a tool call does, as steps that can be compared with a rule: the actions of each, and the names on which it acts.
 * Texts that a call only writes, searches or prints are no names on which it acts.
 */
import { answerOf, bare, partsOf, wordsOf } from '../tools/shell.js'
import { argumentsOf, queryOf, type NamedCall } from '../tools/call-query.js'
import { seemsToRead } from '../tools/tool-shapes.js'
import { ACTIONS, type Action } from './actions.js'

/** One step of a call: a part of a command, a change of a file, or the call of another tool. */
export interface CallStep {
  readonly actions: ReadonlySet<Action>
  /** It shows something and changes nothing. */
  readonly reads: boolean
  /** The names on which it acts: words of the command, files, values of arguments. In lower case. */
  readonly names: readonly string[]
  /** The name of a tool that is no shell and no editor, in lower case and with underscores. */
  readonly tool?: string
  /** The words of the command, in lower case; absent for other tools. */
  readonly command?: readonly string[]
  /** The files that it changes, or reads. */
  readonly files: readonly string[]
  /** The numbers among its arguments, by their name. */
  readonly amounts: readonly { readonly name: string; readonly value: number }[]
  /** For people. */
  readonly text: string
  /** When it was made, ISO 8601. */
  readonly at?: string
}

/** Options whose value is a text: the message of a commit, a title. */
const TEXT_OPTIONS = /^(?:-m|-am|-a?m|--message|--title|--body|--notes|-b|--description|--comment)$/u
/** A step that only shows what it would do. */
const DRY =
  /(?:^|\s)(?:--dry-run(?:=\S+)?|--dryrun|--check|--diff|--no-act|--simulate|--just-print|-n(?=\s.*push)|plan|--help|-h$|--version)(?=\s|$)/u
const SQL_CLIENT =
  /^(?:psql|mysql|mariadb|sqlite3|duckdb|sqlcmd|mongosh?|redis-cli|clickhouse-client|cockroach|bq|snowsql|usql)$/u
/** Programs that run a command given as text. */
const RUNS_TEXT =
  /^(?:(?:ba|z|da)?sh|ssh|kubectl|docker|docker-compose|su|env|xargs|parallel|watch|nix|direnv|tox|poetry|uv|npx|pnpx|bunx)$/u

const SQL_READS = /^\s*(?:\(?\s*select|with|show|describe|desc|explain|\\d\S*|\\l|\\dt|pragma|use|set|begin|values)\b/iu
const SQL_DELETES = /\b(?:drop|delete\s+from|truncate)\b/iu
const SQL_CHANGES =
  /\b(?:insert\s+into|update\s+\S+\s+set|delete\s+from|drop\s+(?:table|database|schema|index|view|column)|truncate|alter\s+(?:table|database|schema|role)|create\s+(?:table|index|view|database|schema|unique)|replace\s+into|merge\s+into|grant\b|revoke\b|copy\s+\S+\s+from|vacuum\s+full)\b/iu

const READING: ReadonlySet<Action> = new Set<Action>(['read'])

/** What a text does if it is SQL that changes something. */
const sqlChanges = (text: string): ReadonlySet<Action> | undefined =>
  SQL_CHANGES.test(text) ? new Set<Action>(SQL_DELETES.test(text) ? ['change', 'delete'] : ['change']) : undefined

/** What a text does; undefined if it is no SQL. */
const sqlActions = (text: string): ReadonlySet<Action> | undefined =>
  sqlChanges(text) ?? (SQL_READS.test(text) ? READING : undefined)

/** Names in a text: words with their marks, and their parts between colons, slashes and equals signs. */
function namesIn(text: string): string[] {
  const lower = text.toLowerCase()
  const pieces = lower.match(/[\p{L}\p{N}_.~*+@:/\\=#-]+/gu) ?? []
  return [
    ...new Set(
      pieces.flatMap((piece) => {
        const plain = piece.replace(/^[.,:;]+(?=\w)|[.,:;]+$/gu, '')
        return [plain, ...plain.split(/[:/\\=@?&]+/u), ...plain.split(/[:=@]+/u)]
      }),
    ),
  ].filter((name) => name !== '')
}

/** A copy changes its target only. */
const COPIES = /^(?:cp|copy-item|scp|rsync|ln)$/u

const NO_AMOUNTS: CallStep['amounts'] = []

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

/** The steps of one part of a shell command. */
function stepsOfPart(part: string, depth: number): CallStep[] {
  const [head = part] = part.split(/<<-?\s*['"]?\w/u)
  const plain = bare(head).trim()
  const words = wordsOf(plain)
  const program = (words[0] ?? '').replace(/^.*[/\\]/u, '').toLowerCase()
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
  const operands = operandsOf(words)
  const text = operands.join(' ')
  const answer = answerOf(part)
  // Fixed text is printed, or written into a file.
  if (answer === undefined) return []
  const target = /(?<![0-9&>=-])>{1,2}\s*(?<file>[^\s&>|;]+)/u.exec(
    head.replaceAll(/"(?:[^"\\]|\\.)*"|'[^']*'/gu, (quoted) => ' '.repeat(quoted.length)),
  )?.groups?.['file']
  const isPrinted = /^(?:echo|printf|cat)$/u.test(program) && target !== undefined
  if (isPrinted)
    return [
      {
        actions: new Set<Action>(['change']),
        reads: false,
        names: namesIn(target),
        files: [target],
        amounts: NO_AMOUNTS,
        text: plain,
        command: [],
      },
    ]
  const isFed = /(?<!<)<(?![<(])/u.test(head) || /(?:^|\s)(?:-f|--file)\s+\S+\.sql/u.test(plain)
  // A file of statements may change anything.
  const sql = !SQL_CLIENT.test(program)
    ? undefined
    : (sqlChanges(words.slice(1).join(' ')) ?? (isFed ? new Set<Action>(['change']) : READING))
  const actions = new Set<Action>(sql ?? [])
  for (const { action, command } of ACTIONS) if (command?.test(text.toLowerCase()) === true) actions.add(action)
  const isDry = DRY.test(plain)
  const reads =
    isDry ||
    sql?.has('read') === true ||
    (sql === undefined &&
      actions.size === 0 &&
      !isFed &&
      (answer !== 'acts' || target !== undefined) &&
      (answer !== 'state' || !CHANGES_BY_NAME.test(plain)) &&
      target === undefined)
  if (!reads) {
    actions.add('use')
    if (answer === 'acts' || isFed || CHANGES_BY_NAME.test(plain)) actions.add('change')
  }
  if (!isDry) actions.add('run')
  if (reads) actions.add('read')
  // A search pattern and a printed expression are texts.
  const own = COPIES.test(program) ? [program, ...operands.slice(-1)] : operands
  const acted = target === undefined ? own : [...own, target]
  return [
    {
      actions,
      reads,
      names: namesIn(acted.join(' ')),
      command: operands.map((word) => word.toLowerCase()),
      files: acted.slice(1).filter((word) => /[./\\]/u.test(word) && !word.startsWith('-')),
      amounts: NO_AMOUNTS,
      text: plain,
    },
  ]
}

/** The steps of a shell command. */
function stepsOfCommand(command: string, depth = 0): CallStep[] {
  // The text of a here-document is written, and not run.
  const withoutTexts = command.replaceAll(
    /<<-?\s*['"]?(\w+)['"]?[^\n]*\n[^]*?\n\s*\1\s*(?=\n|$)/gu,
    (all, tag: string) => (all.split('\n')[0] ?? '').replace(new RegExp(`<<-?\\s*['"]?${tag}['"]?`, 'u'), '<<TEXT'),
  )
  return partsOf(withoutTexts).flatMap((part) => stepsOfPart(part, depth))
}

/** The values of arguments, deeply, with their names. */
function valuesOf(value: unknown, name = '', level = 0): { readonly name: string; readonly value: unknown }[] {
  if (level > 6) return []
  if (Array.isArray(value)) return value.flatMap((each) => valuesOf(each, name, level + 1))
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([key, each]) => valuesOf(each, key, level + 1))
  return [{ name, value }]
}

/** Arguments whose value is a text for people. */
const PROSE = /^(?:body|text|message|content|subject|title|description|reason|note|comment|summary|html|markdown)$/iu
const AMOUNT = /amount|total|price|sum|cents|value|cost|budget|quantity|refund|percent|discount|limit/iu

/** The step of a tool that is no shell and no editor. */
function stepOfTool(call: NamedCall): CallStep {
  const values = valuesOf(argumentsOf(call))
  const texts = values.flatMap(({ name, value }) => (typeof value === 'string' && !PROSE.test(name) ? [value] : []))
  const sql = texts.map(sqlActions).find((found) => found !== undefined)
  const name = call.name.toLowerCase().replaceAll('-', '_')
  const actions = new Set<Action>(
    sql ?? ACTIONS.flatMap(({ action, tool }) => (tool?.test(name) === true ? [action] : [])),
  )
  const reads = sql === undefined ? seemsToRead(call.name) && actions.size === 0 : sql.has('read')
  if (reads) actions.add('read')
  else {
    actions.add('use')
    actions.add('run')
    if (sql === undefined && !actions.has('send')) actions.add('change')
  }
  return {
    actions,
    reads,
    names: [...namesIn(texts.join(' ')), name],
    tool: name.replaceAll(/(?<=[a-z])(?=[A-Z])/gu, '_'),
    files: [],
    amounts: values.flatMap((each) => {
      const number = typeof each.value === 'number' ? each.value : Number(each.value)
      return AMOUNT.test(each.name) && Number.isFinite(number) && each.value !== ''
        ? [{ name: each.name.toLowerCase(), value: number }]
        : []
    }),
    text: `${call.name}(${queryOf(call).subject})`,
  }
}

/** The steps of a call. */
export function stepsOf(call: NamedCall): readonly CallStep[] {
  const query = queryOf(call)
  const values = argumentsOf(call)
  switch (query.use) {
    case 'ask':
    case 'note':
    case 'wait':
    case 'agent':
      return []
    case 'write': {
      const content = valuesOf(values).find(
        ({ name, value }) => /command|patch|input|value/u.test(name) && typeof value === 'string',
      )
      const isDeleted =
        /delete/u.test(call.name.toLowerCase()) ||
        /\*\*\* Delete File/u.test(typeof content?.value === 'string' ? content.value : '')
      return [
        {
          actions: new Set<Action>(isDeleted ? ['change', 'delete'] : ['change']),
          reads: false,
          names: namesIn(query.files.join(' ')),
          files: query.files,
          amounts: NO_AMOUNTS,
          text: `${call.name}(${query.subject})`,
        },
      ]
    }
    case 'search':
    case 'web':
      return [
        {
          actions: new Set<Action>(['read']),
          reads: true,
          names: [],
          files: [],
          amounts: NO_AMOUNTS,
          text: query.subject,
        },
      ]
    case 'read':
    case 'shell': {
      const command = commandText(values)
      if (command !== undefined) return stepsOfCommand(command)
      return [
        {
          actions: new Set<Action>(['read']),
          reads: true,
          names: namesIn(query.files.join(' ')),
          files: query.files,
          amounts: NO_AMOUNTS,
          text: `${call.name}(${query.subject})`,
        },
      ]
    }
    case 'other':
      return [stepOfTool(call)]
  }
}

/** The text of a shell command in the arguments of a call. */
function commandText(values: Readonly<Record<string, unknown>>): string | undefined {
  const given = values['command'] ?? values['cmd'] ?? values['script']
  if (typeof given === 'string') return given
  if (!Array.isArray(given)) return undefined
  const words = given.filter((word): word is string => typeof word === 'string')
  return /^(?:.*\/)?(?:ba|z|da)?sh$/u.test(words[0] ?? '') && /^-\w*c$/u.test(words[1] ?? '')
    ? words.slice(2).join(' ')
    : words.join(' ')
}
