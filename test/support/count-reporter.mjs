/**
 * Prints the one line that scripts read: how many tests passed, failed and were skipped. In a whole run what is skipped
 * is named, file by file; in a quick one most of it is what `npm run test:all` is for.
 */
import { relative } from 'node:path'

const asked = process.env['CONTEXT_LEDGER_TEST_ALL'] ?? ''
const isLong = asked !== ''

/** In CI's second run: `npm test` has run the file, and only its long tests are left (length.ts). */
const ranBefore = ({ testFilePath }) => asked === 'ci' && !testFilePath.endsWith('.ci.test.ts')

/** `file: 3 under "title"`, for each outermost title that has skipped tests. */
function skippedIn({ testFilePath, testResults }) {
  const counts = new Map()
  for (const { status, ancestorTitles, title } of testResults) {
    if (status !== 'pending' && status !== 'todo') continue
    const outermost = ancestorTitles[0] ?? title
    counts.set(outermost, (counts.get(outermost) ?? 0) + 1)
  }
  return [...counts].map(
    ([title, count]) => `skipped: ${relative(process.cwd(), testFilePath)}: ${String(count)} under "${title}"\n`,
  )
}

export default class CountReporter {
  onRunComplete(_contexts, results) {
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites
    const counted = results.testResults.filter((each) => !ranBefore(each))
    const skipped = counted.reduce((sum, each) => sum + each.numPendingTests + each.numTodoTests, 0)
    process.stdout.write('\n')
    if (isLong) for (const line of counted.flatMap(skippedIn)) process.stdout.write(line)
    process.stdout.write(
      `${results.numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`,
    )
    if (skipped > 0 && !isLong)
      process.stdout.write('Skipped is what takes long or needs a server: `npm run test:all` runs it.\n')
  }
}
