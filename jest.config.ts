/** @jest-config-loader esbuild-register */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from 'jest'

// `npm run test:all` and CI set it: test/support/length.ts says what that means.
const length = process.env['CONTEXT_LEDGER_TEST_ALL'] ?? ''

/** The files of CI's second run. */
const filesOfCi = (): string[] =>
  readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter(
      (file) =>
        file.endsWith('.ci.test.ts') ||
        (/(?<!\.long)\.test\.ts$/u.test(file) &&
          /serverDescribe|describeOnDatabases/u.test(readFileSync(join('test', file), 'utf8'))),
    )
    .map((file) => `<rootDir>/test/${file}`)

const config: Config = {
  testEnvironment: '<rootDir>/test/support/environment.mjs',
  roots: ['<rootDir>/test'],
  testMatch: length === 'ci' ? filesOfCi() : ['**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', ...(length === '' ? ['\\.(?:long|ci)\\.test\\.ts$'] : [])],
  extensionsToTreatAsEsm: ['.ts', '.tsx'],
  moduleNameMapper: {
    '^context-ledger$': '<rootDir>/src/index.ts',
    '^context-ledger/client$': '<rootDir>/src/interfaces/client/index.ts',
    '^context-ledger/(.*)$': '<rootDir>/src/interfaces/sdk/$1/index.ts',
    '^@electric-sql/pglite$': '<rootDir>/test/support/pglite.ts',
    '^\\./database-template\\.js$': '<rootDir>/test/support/template.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  transform: { '\\.tsx?$': '<rootDir>/test/support/transform.mjs' },
  globalSetup: '<rootDir>/test/support/compile.mjs',
  setupFilesAfterEnv: ['<rootDir>/test/support/properties.ts'],
  // Each worker that opens PGlite takes 300 to 500 MB, so two workers are what a small machine carries.
  maxWorkers: Number(process.env['CONTEXT_LEDGER_TEST_WORKERS'] ?? 2),
  // A worker keeps the modules of its test files. Collecting the garbage of a large heap takes long.
  workerIdleMemoryLimit: '1GB',
  testTimeout: 120_000,
  reporters: ['default', '<rootDir>/test/support/count-reporter.mjs'],
  coverageProvider: 'v8',
}

export default config
