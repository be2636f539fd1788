/** Calls that failed, with what their results say of it, and the later call that resolved each. */
import { digestOutput } from '../../text/sentences.js'
import { reportsError } from '../../text/cues.js'
import { withoutHead } from './answers.js'
import { isSamePath, type Work } from './works.js'

export interface Failure {
  readonly work: Work
  /** The line that says what was wrong. */
  readonly text: string
  /** The first later call of the same that did not fail. */
  readonly resolvedBy: Work | undefined
}

// The user or the program stopped it: nothing was wrong.
const STOPPED =
  /^\W*(?:the user (?:doesn't|does not) want|request interrupted|user (?:rejected|denied|declined)|permission to use|interrupted by user|operation (?:was )?(?:aborted|cancelled)|command aborted|\[?request interrupted|tool use was rejected|sibling tool call)/iu
const EXIT =
  /^\s*(?:Error:\s*)?(?:Exit code|exit status|Process exited with code|Command exited with code)[: ]+([1-9]\d*)\b/imu
const TAGS = /<\/?(?:tool_use_error|error|stderr|stdout|output|returncode)>/gu
const MOST_CHARACTERS = 300

function failureText(text: string, isCommand: boolean): string | undefined {
  const read = withoutHead(text.replaceAll(TAGS, '\n')).trim()
  const { errors, first, last } = digestOutput(read)
  const head = first.replace(/^(?:Error:\s*)?(?:Exit code|exit status) \d+\s*/iu, '').trim()
  const said = errors.find((line) => !EXIT.test(line)) ?? ((isCommand && last !== '') || head === '' ? last : head)
  return said === '' || EXIT.test(said) ? undefined : said.slice(0, MOST_CHARACTERS)
}

/** Whether a call failed: its program says so, or its command's output begins or ends with a code that says so. */
function hasFailed({ asked, result }: Work): boolean {
  if (result === undefined || STOPPED.test(result.text)) return false
  if (result.isError === true) return true
  if (asked.use !== 'shell') return false
  const ends = `${result.text.slice(0, 200)}\n${result.text.slice(-200)}`
  return EXIT.test(ends) && digestOutput(result.text).errors.some(reportsError)
}

const isSameWork = (a: Work, b: Work): boolean =>
  a.asked.key === b.asked.key ||
  (a.asked.use === 'write' &&
    b.asked.use === 'write' &&
    a.asked.files.some((path) => b.asked.files.some((other) => isSamePath(path, other))))

// What comes much later resolves something else.
const MOST_CALLS_BETWEEN = 60

/** The failures among some calls, in their order. */
export function failuresIn(works: readonly Work[]): Failure[] {
  return works.flatMap((work, at): Failure[] => {
    if (!hasFailed(work)) return []
    const text = failureText(work.result?.text ?? '', work.asked.use === 'shell')
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
