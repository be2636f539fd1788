/** The names in a rule that calls can be compared with: paths, names in code, flags, commands, branches, addresses. */

type TargetKind =
  | 'path'
  | 'name'
  | 'flag'
  | 'command'
  | 'address'
  /** The kind of a statement of SQL. */
  | 'statement'
  /** A kind of thing that only some programs act on: a database, a cluster. */
  | 'area'

export interface Target {
  readonly kind: TargetKind
  /** In lower case, without quotation marks. */
  readonly text: string
  /** As the rule writes a path with capitals. */
  readonly exact?: string
}

/** Programs whose name begins a command in a sentence. */
const PROGRAMS =
  'git|npm|pnpm|yarn|bun|npx|node|pip|pip3|uv|poetry|pipx|conda|python|docker|docker-compose|kubectl|helm|terraform|tofu|ansible-playbook|make|just|cargo|go|rm|mv|dd|curl|wget|sudo|psql|mysql|sqlite3|redis-cli|mongosh|ssh|scp|rsync|apt|apt-get|brew|gem|bundle|rake|mvn|gradle|gh|glab|aws|gcloud|az|vercel|fly|heroku|systemctl|pytest|jest|vitest|tox|eslint|prettier|black|ruff|alembic|prisma|knex|flyway|rails|php|composer|artisan|twine|crontab|chmod|chown|kill|killall|reboot|shutdown|mkfs|prettier|webpack|tsc'
/** Words that follow a program and belong to its command. */
const SUBCOMMANDS =
  'push|pull|commit|merge|rebase|reset|clean|checkout|switch|branch|tag|stash|revert|cherry-pick|fetch|clone|install|add|remove|uninstall|update|upgrade|publish|run|test|build|start|stop|restart|apply|destroy|plan|import|delete|create|get|exec|rollout|scale|drain|up|down|prune|system|volume|compose|compare|release|pr|upload|migrate|db|deploy|seed|drop|audit|fix|lint|format|ci|link|sync|lock|s3|rb|cp|ls|sum|mod|tidy|vet|clippy|check|generate|prisma|upgrade|downgrade|heads|restore|dump|flushall|flushdb'
const COMMAND = new RegExp(
  `(?<![\\p{Ll}\\p{Lu}\\p{N}_./-])(?:${PROGRAMS})(?:\\s+(?:${SUBCOMMANDS}|--?[a-z][\\w=-]*))+(?![\\p{Ll}\\p{Lu}\\p{N}_])`,
  'giu',
)
const ALONE = new RegExp(
  `(?<![\\p{Ll}\\p{Lu}\\p{N}_./@-])(?:npm|pnpm|yarn|bun|pip|pip3|poetry|uv|conda|sudo|kubectl|docker|terraform|helm|curl|wget|psql|make|rm|cargo|pytest|jest|vitest)(?![\\p{Ll}\\p{Lu}\\p{N}_/-]|\\.\\w)`,
  'giu',
)
const STATEMENT =
  /(?<![\w])(?:DROP(?: TABLE| DATABASE| SCHEMA)?|TRUNCATE(?: TABLE)?|DELETE(?: FROM)?|ALTER(?: TABLE)?|INSERT(?: INTO)?|UPDATE|FLUSHALL|FLUSHDB|VACUUM(?: FULL)?|GRANT|REVOKE|SHUTDOWN)(?![\w])/gu
/** The table after the kind of a statement: UPDATE or DELETE on readings. */
const STATEMENT_OBJECT = new RegExp(
  `${STATEMENT.source}[^.;:]{0,40}?\\s(?:on|in|from|into|against|auf|en|sobre)\\s+(?:the\\s+|der\\s+|die\\s+|la\\s+|el\\s+)?([\\p{Ll}][\\p{L}\\p{N}_.]{2,60})(?![\\p{L}\\p{N}_-])`,
  'gu',
)
const AREAS: readonly (readonly [string, RegExp])[] = [
  [
    'database',
    /(?<![\p{L}])(?:databases?|tables?|rows?|datenbank\p{L}*|tabellen?|bases? de datos|tablas?|sql)(?![\p{L}])|データベース|テーブル|数据库|数据表|库里|表里/iu,
  ],
  ['cluster', /(?<![\p{L}])(?:cluster|kubernetes|k8s|namespaces?|pods?)(?![\p{L}])|クラスタ|集群/iu],
]

const QUOTED =
  /`([^`\n]{1,120})`|"([^"\n]{1,80})"|“([^”\n]{1,80})”|「([^」\n]{1,80})」|«\s?([^»\n]{1,80}?)\s?»|„([^“”\n]{1,80})[“”]/gu
const EMAIL = /(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,5}/gu
const URL = /https?:\/\/[^\s)>,;"'`]+/gu
/** A channel of a chat. */
const CHANNEL = /(?<![\p{L}\p{N}_#/&])#[a-z][\w-]{2,}/giu
const FLAG = /(?<![\w-])--[a-z][\w-]*/giu
/** A short flag, only next to words that say so. */
const SHORT_FLAG =
  /(?<=(?<![\p{L}])(?:with|mit|con|avec|flag|option|opción|using)\s+[`"']?)-[a-z](?![\w-])|(?<=[带加用]上?\s?)-[a-z](?![\w-])|(?<![\w-])-[a-z](?=\s?(?:を(?:付け|つけ)|オプション|付き|参数|选项))/giu
const PATH =
  /(?<![\p{Ll}\p{Lu}\p{N}_:@.*+/-])(?:~|\.{1,2})?\/?(?:[\w.@*+-]{1,80}\/){1,20}[\w.@*+-]{0,80}|(?<![\w/.])\/[\w.@*+-]+|(?<![\w/@.-])(?:\.env(?:\.\w+)*|\.[a-z]{2,20}(?:ignore|rc)|[\w-]{1,80}(?:\.[\w-]{1,40}){0,4}\.(?!(?:com|org|net|io|dev|internal|local|example|test|lan|corp|cloud|de|eu|jp|cn|es)(?!\w))[a-z][a-z0-9]{1,7})(?![\w-])|(?<![\w/.-])(?:Makefile|Dockerfile|Procfile|Jenkinsfile)(?!\w)|(?<![\w/])\*\.\w+/gu
/** Hosts, and names of code, of versions, of branches. */
const NAME =
  /(?<![\p{Ll}\p{Lu}\p{N}_./@-])(?:(?:[a-z0-9-]{1,63}\.){1,6}(?:com|org|net|io|dev|internal|local|example|test|lan|corp|cloud|de|eu|jp|cn|es|app)|(?=[\w.-]*[\d_])[a-z][\w-]*(?:\.[\w-]+)*|[a-z][a-z0-9]+(?:-[a-z0-9]+)+|[a-z]+[A-Z]\w*|[A-Z]+[a-z]+[A-Z]\w*|[A-Z][A-Z0-9]*_[A-Z0-9_]+)(?![\p{Ll}\p{Lu}\p{N}_])/gu
/** Ordinary words with a dash. */
const ORDINARY =
  /^(?:off-limits|read-only|hands-off|force-push\w*|up-to-date|pre-commit|re-\w+|co-\w+|non-\w+|one-\w+|two-\w+|\w+-(?:off|only|time|based|free|level|in|out|up|by|to|term|hand|side|wide|ins|ever|safe|specific)|follow-up|e-?mails?|double-check|x-mas|well-\w+|sign-off|no-\w+|(?:a|b)-\w+|pull-request|end-\w+|git-\w+|\d.*)$/iu

/** Branches and environments: names only where a rule speaks of pushing, merging, deploying. */
const BRANCHES =
  /(?<![\p{Ll}\p{Lu}\p{N}_./-])(?:main|master|develop|trunk|production|prod|staging|live|gh-pages)(?![\p{Ll}\p{Lu}\p{N}_/-]|\.[\w])/giu

const WHOLE_BRANCH = new RegExp(`^(?:${BRANCHES.source})$`, 'iu')

/** The word next to a noun such as "table" or "folder" is a name. */
const NOUN = String.raw`table|tables|folder|directory|dir|file|branch|host|server|database|db|schema|bucket|namespace|cluster|package|module|repo|repository|service|queue|topic|index|collection|column|project|tabelle|ordner|verzeichnis|datei|zweig|branch|datenbank|server|schema|paket|tabla|carpeta|directorio|archivo|rama|base de datos|base|servidor|paquete|esquema`
const NOUN_ALONE = new RegExp(`^(?:${NOUN})$`, 'iu')
const BEFORE_NOUN = new RegExp(
  `(?:the|die|der|das|den|dem|la|el|any|our|unsere[nrm]?|your)\\s+[\`"']?([\\p{Ll}][\\p{L}\\p{N}_-]{2,40})[\`"']?\\s+(?:${NOUN})(?![\\p{L}/_.-])`,
  'giu',
)
const AFTER_NOUN = new RegExp(`(?<![\\p{L}])(?:${NOUN})\\s+[\`"']?([\\p{Ll}][\\p{L}\\p{N}_./-]{2,60})[\`"']?`, 'giu')
/** The same without spaces between words: payouts テーブル, payouts 表. */
const BEFORE_NOUN_CJK =
  /([A-Za-z][\w./-]{1,60})\s*(?:という|の)?\s*(?:テーブル|フォルダ|ディレクトリ|ファイル|ブランチ|ホスト|サーバー?|データベース|DB|スキーマ|表|目录|目錄|文件夹|分支|主机|数据库|服务器|文件|库)/gu
const COMMON_WORD =
  /^(?:belongs?|gehört|gehören|pertenece|the|this|that|these|those|any|all|new|old|whole|entire|other|another|same|own|user|main|test|tests|git|data|source|production|live|remote|local|public|private|legacy|generated|shared|alone|module|untouched|is|are|was|and|or|of|in|on|to|for|from|with|without|only|which|where|has|have|must|may|can|should|will|ist|sind|nicht|nie|darf|und|oder|von|im|ohne|mit|es|está|son|de|del|sin|que|y|no|se|en|con|para|per|config|configuration|you|i|we|he|she|they|it|me|us|them|our|your|my|du|ich|wir|sie|ihr|tú|yo|nosotros)$/iu

const unquoted = (match: RegExpMatchArray): string => match.slice(1).find((group) => group !== undefined) ?? match[0]

const isFlag = (text: string): boolean => /^-{1,2}[a-z]/iu.test(text)
const isPath = (text: string): boolean => /[/\\]/u.test(text) || /^\.\w|^\*\.|\.\w{1,6}$/u.test(text)

function kindOf(text: string): TargetKind {
  if (/@[\w-]+\.\w/u.test(text) || /^https?:/u.test(text)) return 'address'
  if (isFlag(text)) return 'flag'
  if (/\s/u.test(text)) return 'command'
  return isPath(text) ? 'path' : 'name'
}

/**
 * The targets of a clause, each once.
 * @param withBranches whether `main` and `production` are names in it
 */
export function targetsOf(clause: string, withBranches: boolean): readonly Target[] {
  const found: Target[] = []
  let rest = clause
  const take = (pattern: RegExp, textOf: (match: RegExpMatchArray) => string, kind?: TargetKind): void => {
    for (const match of clause.matchAll(pattern)) {
      const text = textOf(match)
        .trim()
        .replace(/[.,;:!?。、]+$/u, '')
      if (text === '' || !rest.includes(text)) continue
      if (
        pattern !== QUOTED &&
        kind === undefined &&
        (ORDINARY.test(text) || COMMON_WORD.test(text) || NOUN_ALONE.test(text))
      )
        continue
      rest = rest.replace(text, ' '.repeat(text.length))
      const kindFound = kind ?? kindOf(text)
      const lower = cased(text)
      found.push({ kind: kindFound, text: lower, ...(kindFound === 'path' && text !== lower ? { exact: text } : {}) })
    }
  }
  const takeTables = (): void => {
    for (const [, text = ''] of clause.matchAll(STATEMENT_OBJECT)) {
      if (COMMON_WORD.test(text) || NOUN_ALONE.test(text) || WHOLE_BRANCH.test(text)) continue
      rest = rest.replace(text, ' '.repeat(text.length))
      found.push({ kind: 'name', text: text.toLowerCase() })
    }
  }
  take(QUOTED, unquoted)
  take(EMAIL, ([text]) => text, 'address')
  take(URL, ([text]) => text, 'address')
  take(CHANNEL, ([text]) => text, 'address')
  take(COMMAND, ([text]) => text, 'command')
  take(STATEMENT, ([text]) => text, 'statement')
  takeTables()
  take(FLAG, ([text]) => text, 'flag')
  take(SHORT_FLAG, ([text]) => text, 'flag')
  take(PATH, ([text]) => text)
  take(NAME, ([text]) => text)
  take(BEFORE_NOUN_CJK, unquoted)
  take(BEFORE_NOUN, unquoted)
  take(AFTER_NOUN, unquoted)
  take(ALONE, ([text]) => text, 'name')
  if (withBranches) take(BRANCHES, ([text]) => text, 'name')
  return found
}

/** In lower case, but for short flags: `-D` and `-d` are two. */
export const cased = (text: string): string =>
  text.replaceAll(/\S+/gu, (word) => (/^-[A-Za-z]+$/u.test(word) ? word : word.toLowerCase()))

/** The area that a clause without names speaks of. */
export const areasOf = (clause: string): readonly Target[] =>
  AREAS.flatMap(([text, words]) => (words.test(clause) ? [{ kind: 'area' as const, text }] : []))

/** Programs that do the same: a rule to use one forbids the others. */
export const FAMILIES: readonly (readonly string[])[] = [
  ['npm', 'pnpm', 'yarn', 'bun'],
  ['pip', 'pip3', 'poetry', 'uv', 'conda', 'pipenv'],
]

/** Programs that people call by the name of the product. */
const PRODUCTS: readonly (readonly [RegExp, string])[] = [
  [/(?<![\p{L}])maven(?![\p{L}])/iu, 'mvn'],
  [/(?<![\p{L}])ansible(?![\p{L}-])/iu, 'ansible-playbook'],
  [/(?<![\p{L}])gradle(?![\p{L}])/iu, 'gradle'],
]

/** The program of a product that a clause names. */
export const programOfProduct = (clause: string): Target | undefined => {
  const found = PRODUCTS.find(([words]) => words.test(clause))
  return found === undefined ? undefined : { kind: 'name', text: found[1] }
}

/** Whether a target is a program that is used as a command. */
export const isProgram = ({ kind, text }: Target): boolean =>
  kind === 'name' && new RegExp(`^(?:${PROGRAMS})$`, 'u').test(text)

/** Whether a text names a target: whole, or by the last part of its path, as people do. */
export function isNamedIn({ text: target }: Target, text: string): boolean {
  const lower = text.toLowerCase()
  if (lower.includes(target)) return true
  const last = target.replace(/\/+$/u, '').split('/').at(-1) ?? ''
  const parts = target.split(/[/_.-]+/u).filter((part) => part.length > 3)
  // "The tide fixtures" are fixtures/tides.
  if (parts.length > 1 && parts.every((part) => lower.includes(part.slice(0, -1)))) return true
  const stem = last.replace(/\.[a-z0-9]{1,8}$/u, '')
  return (last.length > 3 && lower.includes(last)) || (stem !== last && stem.length > 4 && lower.includes(stem))
}
