/** The controller name of the tests' GatewayClasses. */
export const CONTROLLER = 'projectsesame.io/gateway-controller';
