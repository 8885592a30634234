import { testHistories } from './histories.ts';

testHistories(0);
