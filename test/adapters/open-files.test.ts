/** The limit of open files is read from a report of the process where the system has no file for it, as macOS. */
import { spawnSync } from 'node:child_process'
import { expect, it, test } from '@jest/globals'
import { filesOfEngine, limitInReport } from '../../src/adapters/pglite/open-files.js'

it.each([80, 300])('a report of a process has the limit %i', (limit) => {
  const script = 'process.report.excludeNetwork = true; console.log(JSON.stringify(process.report.getReport()))'
  const { stdout } = spawnSync(
    'sh',
    ['-c', `ulimit -n ${String(limit)} && exec "$0" -e "$1"`, process.execPath, script],
    {
      encoding: 'utf8',
    },
  )
  expect(limitInReport(JSON.parse(stdout))).toBe(limit)
})

test('a report without limits, as of Windows, gives no limit', () => {
  expect(limitInReport({ header: {} })).toBe(Infinity)
  expect(filesOfEngine('a folder', Infinity)).toBe(1_000)
})
