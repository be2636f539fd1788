/** Failed calls, with the error line of the result and the later call that resolved each. */
import { digestOutput } from '../../domain/text/sentences.js'
import { reportsError } from '../../domain/text/cues.js'
import { withoutHead } from './answers.js'
import { withoutCode } from './code-frames.js'
import { isSamePath } from '../../domain/tools/call-query.js'
import type { Work } from './tool-calls.js'

export interface Failure {
  readonly work: Work
  /** The line that reports the error. */
  readonly text: string
  /** The first later call of the same query that did not fail. */
  readonly resolvedBy: Work | undefined
}

// Stopped by the user or the program: not an error.
const STOPPED =
  /^\W*(?:the user (?:doesn't|does not) want|request interrupted|user (?:rejected|denied|declined)|permission to use|interrupted by user|operation (?:was )?(?:aborted|cancelled)|command aborted|\[?request interrupted|tool use was rejected|sibling tool call)/iu
const EXIT =
  /^\s*(?:Error:\s*)?(?:Exit code|exit status|Process exited with code|Command exited with code)[: ]+([1-9]\d*)\b/imu
const TAGS = /<\/?(?:tool_use_error|error|stderr|stdout|output|returncode)>/gu
const MOST_CHARACTERS = 300

// Lines that programs print without an error: the head of a table, an entry of a listing, a path, a count.
const LISTING =
  /^(?:total \d+|[-dlrwxst]{10}\b|\s*(?:UID|USER|PID|NAME|COMMAND|CONTAINER ID|COMMIT|TTY)\b.*[A-Z]{3,}|[\w.@~-]*(?:[/\\][\w.@~-]*)+[:,]?|\d+)$|^(?:\S+\s+)?\d+\s+\S+\s+\S+\s+\d+:\d\d/u
const LEAST_WORDS = 3
const wordCount = (line: string): number => line.match(/\p{L}{2,}/gu)?.length ?? 0

/** Whether a line can be the sentence by which a tool reports its failure. */
const isFailureSentence = (line: string): boolean =>
  reportsError(line) || (!LISTING.test(line) && wordCount(line) >= LEAST_WORDS && !/^[{[<|]/u.test(line))

// Lines that say that something failed and count it, but not what: heads and totals of test runners and compilers.
const TOTAL =
  /^\W*(?:traceback \(most recent call|FAIL(?:ED)?(?:\s+[\w./\\@-]+\.\w+.*)?$|found \d+ |\d+ (?:problems?|errors?|warnings?|failed|failing|tests?)\b|error: (?:aborting due|compilation failed|could not compile|test failed)|(?:Tests?|Test Suites|Suites):)/iu
// The forms in which compilers and linters report an error without that word: by its place, or by a mark.
const REPORT =
  /^\s*(?:[\w./\\@-]+\.\w+:\d+(?::\d+)?(?::in\b.*)?:\s+\S|[\w./\\@-]+\.\w+:\d+:in |\d+:\d+\s+error\s|\S+:\d+:\d+ - error\b|[×✖]\s|e: \S|\*\* \(\w+\))/u

/** The lines of an output, each as `digestOutput` tidies it, that name an error: the best ones first. */
function errorLines(text: string): readonly string[] {
  const lines = text.split('\n')
  const named = lines.filter((line) => !TOTAL.test(line))
  const reports = named.filter((line) => REPORT.test(line) && !reportsError(line))
  return [
    ...digestOutput(named.filter((line) => !REPORT.test(line) || reportsError(line)).join('\n')).errors,
    ...reports.slice(0, 1).map((line) => digestOutput(line).first),
    ...digestOutput(text).errors,
  ]
}

function failureText(text: string, isCommand: boolean): string | undefined {
  const read = withoutCode(withoutHead(text.replaceAll(TAGS, '\n'))).trim()
  const { first } = digestOutput(read)
  const errors = errorLines(read)
  const head = first.replace(/^(?:Error:\s*)?(?:Exit code|exit status) \d+\s*/iu, '').trim()
  const reported = errors.find((line) => !EXIT.test(line))
  // The output of a command can be anything: only a line in the form of an error names the failure.
  const line = reported ?? (!isCommand && isFailureSentence(head) ? head : undefined)
  return line === undefined || line === '' || EXIT.test(line) ? undefined : line.slice(0, MOST_CHARACTERS)
}

/** Whether a call failed: by its error flag, or by an exit code at the beginning or end of the command's output. */
function hasFailed({ query, result }: Work): boolean {
  if (result === undefined || STOPPED.test(result.text)) return false
  if (result.isError === true) return true
  if (query.use !== 'shell') return false
  const ends = `${result.text.slice(0, 200)}\n${result.text.slice(-200)}`
  return EXIT.test(ends) && digestOutput(withoutCode(result.text)).errors.some(reportsError)
}

const isSameWork = (a: Work, b: Work): boolean =>
  a.query.key === b.query.key ||
  (a.query.use === 'write' &&
    b.query.use === 'write' &&
    a.query.files.some((path) => b.query.files.some((other) => isSamePath(path, other))))

// A much later success resolves something else.
const MOST_CALLS_BETWEEN = 60

/** The failures among some calls, in their order. */
export function failuresIn(works: readonly Work[]): Failure[] {
  return works.flatMap((work, at): Failure[] => {
    if (!hasFailed(work)) return []
    const text = failureText(work.result?.text ?? '', work.query.use === 'shell')
    if (text === undefined) return []
    const resolvedBy = works
      .slice(at + 1, at + 1 + MOST_CALLS_BETWEEN)
      .find(
        (later) =>
          isSameWork(work, later) &&
          later.result !== undefined &&
          !hasFailed(later) &&
          !STOPPED.test(later.result.text),
      )
    return [{ work, text, resolvedBy }]
  })
}
