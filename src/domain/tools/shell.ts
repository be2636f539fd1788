/**
 * Classifies a shell command by its words: it shows files, inspects state that changes by itself, changes something, or
 * waits. The answer of an unknown command may change.
 */

/** The inputs on which the answer of a command depends. */
export type Answer =
  /** Only on files: the same until one of them changes. */
  | 'files'
  /** On earlier actions: a status, a build, tests, a program of the project. */
  | 'state'
  /** The command is run for its effect, not for its answer. */
  | 'acts'
  /** The command checks the progress of something that runs by itself. */
  | 'waits'

export interface Command {
  /** The command in one line, without the initial change of directory; equal for the same command. */
  readonly key: string
  readonly answer: Answer
  /** The files that it prints, if it does nothing else. */
  readonly files: readonly string[]
  /** The words of the parts that change something; changed files are among them. */
  readonly changes: readonly string[]
}

const PRINTERS = new Set(['cat', 'head', 'tail', 'nl', 'less', 'more', 'bat', 'sed', 'get-content', 'type'])
const FILTERS = new Set([
  'head',
  'tail',
  'nl',
  'sed',
  'sort',
  'uniq',
  'cut',
  'tr',
  'wc',
  'grep',
  'rg',
  'awk',
  'jq',
  'column',
  'cat',
  'less',
  'fold',
  'select-string',
  'out-string',
])
const SEARCHES = new Set([
  'grep',
  'rg',
  'ag',
  'ack',
  'egrep',
  'fgrep',
  'awk',
  'jq',
  'yq',
  'wc',
  'diff',
  'cmp',
  'cut',
  'sort',
  'uniq',
  'tr',
  'strings',
  'xxd',
  'od',
  'hexdump',
  'md5sum',
  'sha256sum',
  'which',
  'man',
  'select-string',
  'column',
  'xmllint',
  'pdftotext',
])
const LISTS = new Set([
  'ls',
  'find',
  'fd',
  'tree',
  'stat',
  'file',
  'du',
  'df',
  'pwd',
  'env',
  'printenv',
  'whoami',
  'uname',
  'hostname',
  'get-childitem',
  'test-path',
  'command',
  'id',
  'ps',
  'lsof',
  'date',
  'history',
])
const PRINTS_NOTHING = new Set(['echo', 'printf', 'true', 'cd', 'set', 'export', 'test', '[', 'write-output', ':'])
const ACTS = new Set([
  'rm',
  'mv',
  'cp',
  'mkdir',
  'rmdir',
  'touch',
  'ln',
  'chmod',
  'chown',
  'kill',
  'pkill',
  'killall',
  'tee',
  'patch',
  'dd',
  'tar',
  'unzip',
  'zip',
  'apt',
  'apt-get',
  'brew',
  'pip',
  'pip3',
  'open',
  'start',
  'remove-item',
  'copy-item',
  'move-item',
  'new-item',
  'set-content',
  'stop-process',
  'git-lfs',
  'scp',
  'rsync',
  'ssh',
  'mise',
])
const WAITS = new Set(['sleep', 'watch', 'wait', 'start-sleep'])
const GIT_FILES = new Set([
  'show',
  'blame',
  'grep',
  'cat-file',
  'ls-tree',
  'rev-parse',
  'merge-base',
  'describe',
  'config',
])
const GIT_STATE = new Set([
  'status',
  'log',
  'diff',
  'branch',
  'remote',
  'tag',
  'ls-files',
  'reflog',
  'rev-list',
  'shortlog',
  'ls-remote',
  'show-ref',
  'for-each-ref',
  'notes',
  'check-ignore',
  'fetch',
])
/** Commands that check the progress of a run on another machine or in the background. */
const POLLS =
  /^(?:gh (?:run|pr (?:checks|view|status)|workflow)|docker (?:ps|logs|inspect)|kubectl (?:get|logs|describe)|systemctl status|curl\b.*\b(?:localhost|127\.0\.0\.1)|tail -f)/u
const INSTALLS =
  /^(?:npm|pnpm|yarn|bun|cargo|go|uv|poetry|gem|bundle|composer|dotnet)\s+(?:i|install|add|remove|uninstall|ci|update|upgrade|get|publish|link|init|mod|sync|lock)\b|^gh (?:pr|issue|release|repo) (?:create|edit|merge|close|comment|review|delete)|^gh api\b.*(?:-X|--method|-f|-F)\b/u

/** Commands that record or send files without changing them. */
const RECORDS = /^git (?:-\S+ (?:\S+ )?)*(?:add|commit|push|fetch|tag)\b|^(?:mkdir|chmod|open|start|kill)\b|^gh\b/u

/** The parts of a command sequence or a pipe. Quoted text is not split. */
export function partsOf(command: string): string[] {
  const parts: string[] = []
  let from = 0
  let inside = ''
  for (let at = 0; at < command.length; at += 1) {
    const letter = command.charAt(at)
    if (inside !== '') {
      if (letter === '\\' && inside === '"') at += 1
      else if (letter === inside) inside = ''
    } else if (letter === '\\') at += 1
    else if (letter === '"' || letter === "'") inside = letter
    else if (
      letter === ';' ||
      letter === '|' ||
      letter === '\n' ||
      (letter === '&' && command.charAt(at + 1) === '&')
    ) {
      parts.push(command.slice(from, at))
      if (command.charAt(at + 1) === letter) at += 1
      from = at + 1
    }
  }
  return [...parts, command.slice(from)].map((part) => part.trim()).filter((part) => part !== '')
}

/** The words of a part, without quotation marks. */
export const wordsOf = (part: string): string[] =>
  Array.from(
    part.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+)/gu),
    ([, double, single, plain]) => double ?? single ?? plain ?? '',
  )

/** A part without leading variables, and without commands that run another command. */
export const bare = (part: string): string =>
  part.replace(/^(?:[A-Za-z_]\w*=\S*\s+|(?:sudo|time|nohup|command|exec|xargs(?:\s+-\S+)*|timeout\s+\S+|env)\s+)+/u, '')
const QUIET = / ?(?:\d?>&\d|&>\s*\/dev\/null|\d?>\s*(?:\/dev\/null|\$null|NUL)\b)/gu

function gitAnswer(words: readonly string[]): Answer {
  const rest = words.slice(1)
  while (rest[0] !== undefined && rest[0].startsWith('-')) rest.splice(0, /^-[cC]$/u.test(rest[0]) ? 2 : 1)
  const [verb = '', ...others] = rest
  if (GIT_FILES.has(verb))
    return others.some((word) => /^HEAD|^-/u.test(word)) || others.length === 0 ? 'state' : 'files'
  if (verb === 'branch' || verb === 'tag' || verb === 'remote' || verb === 'notes')
    return others.every(
      (word) => word.startsWith('-') && !/^-[dDmMf]$|^--(?:delete|move|force|set-upstream)/u.test(word),
    ) ||
      others[0] === 'list' ||
      others[0] === 'show'
      ? 'state'
      : 'acts'
  if (verb === 'worktree' || verb === 'stash') return others[0] === 'list' || others[0] === 'show' ? 'state' : 'acts'
  return GIT_STATE.has(verb) ? 'state' : 'acts'
}

/** The answer of one part; undefined if it only prints fixed text. */
export function answerOf(command: string): Answer | undefined {
  const part = bare(command)
  const words = wordsOf(part)
  const program = (words[0] ?? '')
    .toLowerCase()
    .replace(/^.*[/\\]/u, '')
    .replace(/\.exe$/u, '')
  if (WAITS.has(program)) return 'waits'
  if (POLLS.test(part)) return 'waits'
  // Output redirected to a file, or a here-document.
  if (
    /(?<![0-9&>=-])>{1,2}\s*(?![&>])\S/u.test(part.replaceAll(/"(?:[^"\\]|\\.)*"|'[^']*'/gu, '""')) ||
    /<<-?\s*['"]?\w/u.test(part)
  )
    return 'acts'
  if (PRINTS_NOTHING.has(program)) return undefined
  if (ACTS.has(program) || INSTALLS.test(part)) return 'acts'
  if (program === 'git') return gitAnswer(words)
  if (program === 'sed' || program === 'perl')
    return words.some((word) => /^-\w*i/u.test(word)) ? 'acts' : program === 'sed' ? 'files' : 'state'
  if (program === 'find' && /\s-(?:delete|exec(?:dir)?\s+(?:rm|mv|sed|chmod))\b/u.test(part)) return 'acts'
  if (PRINTERS.has(program) || SEARCHES.has(program)) return 'files'
  if (words.length === 2 && /^(?:--version|-v|-V|version|--help|-h|help)$/u.test(words[1] ?? '')) return 'files'
  if (LISTS.has(program)) return 'state'
  return 'state'
}

const WORST: readonly Answer[] = ['files', 'state', 'waits', 'acts']

/** The files that a part prints, if it does nothing else. */
function printedBy(part: string): string[] {
  const words = wordsOf(bare(part))
  const program = (words[0] ?? '').toLowerCase()
  if (!PRINTERS.has(program)) return []
  const operands = words.slice(1).filter((word) => !word.startsWith('-') && !/^\d+$/u.test(word))
  return (program === 'sed' ? operands.slice(1) : operands).filter(
    (word) => /[./\\]|^[A-Z][A-Za-z]+$/u.test(word) && !/[*?$`{]/u.test(word),
  )
}

/** The words of a part, including the files that it changes. A copy command changes only its target. */
function changedBy(part: string): string[] {
  const words = wordsOf(bare(part))
  return /^(?:cp|copy-item|scp|rsync|ln)$/iu.test(words[0] ?? '') ? words.slice(-1) : words
}

// A longer command is a script, or writes a file.
const MOST_READ_CHARACTERS = 8_000

export function commandOf(text: string): Command {
  const quiet = text.replaceAll(QUIET, '').trim()
  const parts = partsOf(quiet.slice(0, MOST_READ_CHARACTERS))
  const working = parts.filter((part) => answerOf(part) !== undefined)
  const answer = working.reduce<Answer>((worst, part) => {
    const one = answerOf(part) ?? 'files'
    return WORST.indexOf(one) > WORST.indexOf(worst) ? one : worst
  }, 'files')
  const [first, ...others] = working
  const printsOnly = first !== undefined && others.every((part) => FILTERS.has((wordsOf(part)[0] ?? '').toLowerCase()))
  const files = printsOnly && answer === 'files' ? printedBy(first) : []
  return {
    key: quiet
      .replace(/^(?:cd\s+(?:"[^"]*"|'[^']*'|\S+)\s*(?:&&|;)\s*)+/u, '')
      .replaceAll(/\s+/gu, ' ')
      .trim(),
    // A command that only prints fixed text queries nothing.
    answer: working.length === 0 ? 'acts' : answer,
    files: files.length === 1 ? files : [],
    changes: working
      .filter((part) => answerOf(part) === 'acts' && !RECORDS.test(bare(part)))
      .flatMap(changedBy)
      .filter((word) => /[./\\]/u.test(word)),
  }
}
