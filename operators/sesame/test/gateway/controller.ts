/** Of the GatewayClasses that tests have. */
export const CONTROLLER = 'projectsesame.io/gateway-controller';
