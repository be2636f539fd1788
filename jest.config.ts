/** @jest-config-loader esbuild-register */
import type { Config } from 'jest'

// `npm run test:all` sets it; test/support/length.ts says what that means.
const isLong = process.env['CONTEXT_LEDGER_TEST_ALL'] === '1'

const config: Config = {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', ...(isLong ? [] : ['\\.long\\.test\\.ts$'])],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^context-ledger$': '<rootDir>/src/index.ts', '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'es6' }, sourceMaps: 'inline' },
    ],
  },
  globalSetup: '<rootDir>/test/support/compile.ts',
  setupFilesAfterEnv: ['<rootDir>/test/support/properties.ts'],
  // Each worker that opens PGlite takes 300 to 500 MB, so two workers are what a small machine carries.
  maxWorkers: 2,
  testTimeout: 120_000,
  reporters: ['default', '<rootDir>/test/support/count-reporter.mjs'],
  coverageProvider: 'v8',
}

export default config
